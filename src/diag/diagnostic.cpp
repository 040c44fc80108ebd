// SPDX-License-Identifier: Apache-2.0
#include "pyptx/diag/diagnostic.h"

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pyptx/support/nearest.h"

namespace pyptx::diag {
namespace {

constexpr auto kInfos = std::to_array<KindInfo>({
#define PYPTX_DIAGNOSTIC(name, code, severity, format) {#name, code, Severity::severity, format},
#include "pyptx/diag/kinds.def"
#undef PYPTX_DIAGNOSTIC
});

/// A message has no use for a name of a megabyte.
constexpr std::size_t kMostShown = 512;

void append_shown(std::string_view argument, std::string& text) {
  text += argument.substr(0, kMostShown);
  if (argument.size() > kMostShown) text += "...";
}

}  // namespace

const KindInfo& info(Kind kind) { return kInfos[static_cast<std::size_t>(kind)]; }

std::optional<Kind> kind_from_code(std::string_view code) {
  for (std::size_t i = 0; i < kInfos.size(); ++i) {
    if (kInfos[i].code == code) return static_cast<Kind>(i);
  }
  return std::nullopt;
}

std::vector<Kind> all_kinds() {
  std::vector<Kind> kinds;
  kinds.reserve(kInfos.size());
  for (std::size_t i = 0; i < kInfos.size(); ++i) kinds.push_back(static_cast<Kind>(i));
  return kinds;
}

std::string_view text(Severity severity) {
  switch (severity) {
    case Severity::Error:
      return "error";
    case Severity::Warning:
      return "warning";
    case Severity::Lint:
      return "lint";
  }
  return "error";
}

Diagnostic::Diagnostic() : details_(std::make_unique<Details>()) {}
Diagnostic::Diagnostic(Kind k, std::initializer_list<std::string> args) : Diagnostic() {
  kind = k;
  details_->arguments = args;
  details_->manual = section_of(k);
}
Diagnostic::Diagnostic(const Diagnostic& other)
    : kind(other.kind),
      loc(other.loc),
      focus(other.focus),
      details_(other.details_ ? std::make_unique<Details>(*other.details_) : nullptr) {}
Diagnostic::Diagnostic(Diagnostic&& other) noexcept = default;
Diagnostic& Diagnostic::operator=(const Diagnostic& other) { return *this = Diagnostic(other); }
Diagnostic& Diagnostic::operator=(Diagnostic&& other) noexcept = default;
Diagnostic::~Diagnostic() = default;

Diagnostic&& Diagnostic::at(Loc where, Focus what) && {
  loc = where;
  focus = what;
  return std::move(*this);
}

Diagnostic&& Diagnostic::about(std::string_view parameter, std::uint16_t element) && {
  focus = Focus::argument(parameter, element);
  return std::move(*this);
}

Diagnostic&& Diagnostic::label(Loc where, std::string text) && {
  details_->labels.push_back({std::move(text), where, std::nullopt});
  return std::move(*this);
}

Diagnostic&& Diagnostic::note(std::string text) && {
  details_->notes.push_back(std::move(text));
  return std::move(*this);
}

Diagnostic&& Diagnostic::fix(std::string replacement, std::string reason, Loc where) && {
  details_->fixits.push_back(
      {std::move(replacement), std::move(reason), {}, where, std::nullopt, false});
  return std::move(*this);
}

Diagnostic&& Diagnostic::see(std::string_view anchor) && {
  details_->manual = anchor;
  return std::move(*this);
}

Diagnostic&& Diagnostic::suggest(std::string_view word, std::span<const std::string> known) && {
  for (std::string& name : support::nearest(word, known)) {
    details_->fixits.push_back(
        {std::move(name), "did you mean", {}, Loc::None, std::nullopt, false});
  }
  return std::move(*this);
}

void Diagnostic::resolve(const LocationTable& table) {
  if (!details_->place) {
    details_->place = table.resolve(loc, focus);
    for (const std::string_view helper : table.expansions(loc)) {
      details_->notes.push_back("in expansion of " + std::string(helper));
    }
    if (!details_->place) loc = Loc::None;  // what is known of it is told
  }
  for (Label& label : details_->labels) {
    if (!label.place) label.place = table.resolve(label.loc);
  }
  for (FixIt& fixit : details_->fixits) {
    if (!fixit.place) fixit.place = table.resolve(fixit.loc, fixit.focus);
  }
}

std::string Diagnostic::message() const {
  const std::string_view format = info(kind).format;
  std::string text;
  for (std::size_t i = 0; i < format.size(); ++i) {
    if (format[i] == '{' && i + 2 < format.size() && format[i + 2] == '}') {
      const auto index = static_cast<std::size_t>(format[i + 1] - '0');
      append_shown(index < details_->arguments.size() ? details_->arguments[index] : "?", text);
      i += 2;
    } else {
      text += format[i];
    }
  }
  return text;
}

}  // namespace pyptx::diag
