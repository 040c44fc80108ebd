// SPDX-License-Identifier: Apache-2.0
#include "trace/raw_text.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "pyptx/support/concat.h"
#include "pyptx/syntax/printer.h"
#include "pyptx/text/text.h"

namespace pyptx::python {
namespace {

using diag::Kind;

/// What the table does not have may exist nevertheless.
bool is_beyond_the_table(Kind kind) {
  return kind == Kind::UnknownOpcode || kind == Kind::UnknownModifier ||
         kind == Kind::IllegalSpelling || kind == Kind::CombinationRule;
}

bool is_syntax(std::string_view code) {
  return code.starts_with("PTX00") || code.starts_with("PTX01");
}

std::string_view line_of(std::string_view text, std::uint32_t number) {
  for (; number > 1; --number) text.remove_prefix(text.find('\n') + 1);
  text = text.substr(0, text.find('\n'));
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  return text;
}

/// The lines of a module's text, and which of them are raw.
class RawLines {
 public:
  explicit RawLines(const ir::Module& module) : text_(syntax::print(module, &locs_)) {
    for (const auto& function : module.functions) {
      for (const ir::Statement& statement : function->body) {
        if (statement.kind == ir::StatementKind::Raw) raw_.insert(statement.loc);
      }
    }
  }

  std::string_view text() const { return text_; }

  /// `found`, with the author's place instead of that in the text; nothing where it has to do with
  /// no raw text.
  std::optional<diag::Diagnostic> placed(const diag::Diagnostic& found,
                                         const diag::LocationTable& table) const {
    const auto place = table.resolve(found.loc, found.focus);
    if (!place || place->line == 0 || place->line > locs_.size()) return std::nullopt;
    const bool is_inside = is_raw(place->line);
    const std::uint32_t line = is_inside ? place->line : guilty_line(found.kind, place->line);
    if (line == 0) return std::nullopt;
    diag::Diagnostic moved(found.kind, {});
    moved->arguments = found->arguments;
    if (!is_inside && found.kind == Kind::ExpectedToken)
      moved->arguments[1] = "the end of the text";
    moved->notes = found->notes;
    moved->manual = found->manual;
    moved->needed = found->needed;
    moved->present = found->present;
    const std::string_view written = line_of(text_, line);
    if (is_raw(line) && !written.empty()) {
      moved->notes.insert(moved->notes.begin(), support::concat("in the raw text: ", written));
    }
    for (const diag::FixIt& fixit : found->fixits) {
      moved->fixits.push_back({fixit.replacement, fixit.reason, {}, diag::Loc::None, {}, false});
    }
    return std::move(moved).at(locs_[line - 1],
                               is_raw(line) ? diag::Focus::argument("text") : diag::Focus{});
  }

 private:
  /// Of a finding outside of raw text: the author's line it is about, or 0.
  std::uint32_t guilty_line(Kind kind, std::uint32_t line) const {
    if (kind == Kind::UnknownName) return locs_[line - 1] != diag::Loc::None ? line : 0;
    if (!is_syntax(diag::info(kind).code)) return 0;
    // Nothing but raw text can make what follows it unreadable, or leave a block open to the end.
    const auto last = static_cast<std::uint32_t>(locs_.size());
    std::uint32_t raw = kind == Kind::UnclosedBlock ? last : line;
    while (raw > 0 && !is_raw(raw)) --raw;
    return raw;
  }
  bool is_raw(std::uint32_t line) const { return raw_.contains(locs_[line - 1]); }

  std::vector<diag::Loc> locs_;  // of each line of text_
  std::string text_;
  std::unordered_set<diag::Loc> raw_;
};

bool has_raw_text(const ir::Module& module) {
  return std::ranges::any_of(module.functions, [](const auto& function) {
    return std::ranges::find(function->body, ir::StatementKind::Raw, &ir::Statement::kind) !=
           function->body.end();
  });
}

}  // namespace

diag::Status check_raw_text(const ir::Module& module) {
  if (!has_raw_text(module)) return diag::success();
  const RawLines lines(module);
  const text::Checked checked = text::check(lines.text());
  for (const diag::Diagnostic& found : checked.diagnostics) {
    if (found.severity() != diag::Severity::Error || is_beyond_the_table(found.kind)) continue;
    auto moved = lines.placed(found, checked.document.module().locations);
    if (moved) return diag::fail(std::move(*moved));
  }
  return diag::success();
}

}  // namespace pyptx::python
