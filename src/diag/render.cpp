// SPDX-License-Identifier: Apache-2.0
#include "pyptx/diag/render.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "printable.h"
#include "snippet.h"

namespace pyptx::diag {
namespace {

constexpr Palette kPlain{};

Palette palette_of(Severity severity) {
  constexpr std::string_view kRed = "\x1b[1;31m";
  constexpr std::string_view kYellow = "\x1b[1;33m";
  constexpr std::string_view kCyan = "\x1b[1;36m";
  constexpr std::string_view kBlue = "\x1b[1;34m";
  Palette palette{kRed, kBlue, kBlue, "\x1b[1m", "\x1b[0m"};
  if (severity == Severity::Warning) palette.severity = kYellow;
  if (severity == Severity::Lint) palette.severity = kCyan;
  return palette;
}

class Renderer {
 public:
  Renderer(const Diagnostic& diagnostic, const LocationTable* table, const RenderOptions& options)
      : diagnostic_(diagnostic),
        table_(table),
        options_(options),
        palette_(options.color ? palette_of(diagnostic.severity()) : kPlain) {}

  std::string run() {
    headline();
    places();
    for (const std::string& note : diagnostic_->notes) remark("note", printable_lines(note));
    for (const FixIt& fixit : diagnostic_->fixits) {
      remark("help", printable(fixit.reason) + ": " + printable(fixit.replacement));
    }
    availability();
    if (!diagnostic_->manual.empty()) {
      remark("see",
             "PTX ISA, " + manual_title(diagnostic_->manual) + " (" + diagnostic_->manual + ")");
    }
    return std::move(out_);
  }

 private:
  void headline() {
    out_ += palette_.severity;
    out_ += text(diagnostic_.severity());
    out_ += "[" + std::string(diagnostic_.code()) + "]";
    out_ += palette_.reset;
    out_ += palette_.strong;
    out_ += ": " + printable(diagnostic_.message());
    out_ += palette_.reset;
    out_ += "\n";
  }

  void places() {
    const auto place = resolved(diagnostic_->place, diagnostic_.loc, diagnostic_.focus);
    std::vector<Annotation> annotations;
    if (place) {
      out_ += palette_.margin;
      out_ += "  --> ";
      out_ += palette_.reset;
      out_ += printable(place->file) + ":" + std::to_string(place->line);
      if (place->column != 0) out_ += ":" + std::to_string(place->column);
      out_ += "\n";
      annotations.push_back({*place, {}, true});
    }
    for (const Label& label : diagnostic_->labels) {
      if (auto at = resolved(label.place, label.loc, {})) {
        annotations.push_back({std::move(*at), label.text, false});
      } else {
        remark("note", printable(label.text));
      }
    }
    append_snippets(annotations, palette_, options_.line_columns, out_);
  }

  void availability() {
    const Requirement& needed = diagnostic_->needed;
    if (needed.is_empty()) return;
    remark("needs", in_words(needed) + "; the module has " + in_words(diagnostic_->present));
  }

  static std::string in_words(const Requirement& requirement) {
    std::string words;
    if (!requirement.version.empty()) words = "PTX ISA " + requirement.version;
    if (!requirement.target.empty()) {
      words += (words.empty() ? "" : " and ") + requirement.target;
    }
    return words;
  }

  void remark(std::string_view word, const std::string& text) {
    out_ += "  ";
    out_ += palette_.strong;
    out_ += word;
    out_ += ":";
    out_ += palette_.reset;
    out_ += " " + text + "\n";
  }

  /// What a compiler said may be several lines; the later ones are indented.
  static std::string printable_lines(std::string_view text) {
    std::string lines;
    while (true) {
      const std::size_t end = text.find('\n');
      std::string_view line = text.substr(0, end);
      if (line.ends_with('\r')) line.remove_suffix(1);
      lines += printable(line);
      if (end == std::string_view::npos) return lines;
      lines += "\n        ";
      text.remove_prefix(end + 1);
    }
  }

  std::optional<Place> resolved(const std::optional<Place>& place, Loc loc, Focus focus) const {
    if (place) return place;
    return table_ != nullptr ? table_->resolve(loc, focus) : std::nullopt;
  }

  const Diagnostic& diagnostic_;
  const LocationTable* table_;
  const RenderOptions& options_;
  Palette palette_;
  std::string out_;
};

}  // namespace

std::string render(const Diagnostic& diagnostic, const LocationTable* table,
                   const RenderOptions& options) {
  return Renderer(diagnostic, table, options).run();
}

std::string render(std::span<const Diagnostic> diagnostics, const LocationTable* table,
                   const RenderOptions& options) {
  std::string out;
  for (const Diagnostic& diagnostic : diagnostics) {
    if (!out.empty()) out += "\n";
    out += render(diagnostic, table, options);
  }
  return out;
}

}  // namespace pyptx::diag
