// SPDX-License-Identifier: Apache-2.0
//
// Diagnostics: a kind with a permanent code, its arguments, a place, labels, notes, fix-its, the
// manual's section and what it needs. Text is rendered last (render.h), so the same object gives
// the terminal message and the JSON; explain.h tells the long story of a kind, fix.h applies
// fix-its.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pyptx/diag/loc.h"
#include "pyptx/support/result.h"

namespace pyptx::diag {

/// How much a diagnostic weighs: a lint is for those who ask.
enum class Severity : std::uint8_t { Error, Warning, Lint };

/// The kinds of diagnostics, a code each (kinds.def).
enum class Kind : std::uint16_t {
#define PYPTX_DIAGNOSTIC(name, code, severity, format) name,
#include "pyptx/diag/kinds.def"
#undef PYPTX_DIAGNOSTIC
};

/// What kinds.def says of a kind.
struct KindInfo {
  std::string_view name;
  std::string_view code;
  Severity severity;
  std::string_view format;
};

/// The row of a kind.
const KindInfo& info(Kind kind);
/// The kind with this code ("PTX0202"), if there is one.
std::optional<Kind> kind_from_code(std::string_view code);
/// Every kind, in registry order.
std::vector<Kind> all_kinds();
/// "error", "warning", "lint".
std::string_view text(Severity severity);
/// The manual's section in words: "integer-arithmetic-instructions-add" is "Integer Arithmetic
/// Instructions: add".
std::string manual_title(std::string_view anchor);

/// The section of the manual that a finding of this kind is about where nothing narrower is known;
/// empty when the manual has none.
std::string_view section_of(Kind kind);

/// A secondary place with a word on what it has to do with the finding: "first declared here".
struct Label {
  std::string text;
  Loc loc = Loc::None;
  std::optional<Place> place = std::nullopt;  // as in Details
};

/// A suggested replacement. `loc` is the text it replaces, narrowed to `focus` where it is an
/// instruction's; without one it is advice only. Who makes the fix-it may know only `focus` and
/// leave `loc` to the layer that holds the text.
struct FixIt {
  std::string replacement;
  std::string reason;
  Focus focus{Focus::Part::Spelling, 0};
  Loc loc = Loc::None;
  std::optional<Place> place = std::nullopt;  // as in Details
  /// True where the replacement cannot change what the author meant, so that a tool may apply it
  /// unasked.
  bool is_certain = false;
};

/// A PTX ISA version and targets in words ("8.6", "sm_100a or sm_103a"); empty: not stated.
struct Requirement {
  std::string version;
  std::string target;
  bool is_empty() const { return version.empty() && target.empty(); }
};

/// A finding. What it is and where stand in it; what there is to tell lies elsewhere and is reached
/// by `->`, so that a vector of findings, and a function that may return one, are small. There is
/// nothing to tell of a finding that was moved from.
struct Diagnostic {
  struct Details {
    std::vector<std::string> arguments;
    /// Set when the place was resolved before the location table went away.
    std::optional<Place> place;
    std::vector<Label> labels;
    std::vector<std::string> notes;
    std::vector<FixIt> fixits;
    /// Anchor of the section of the PTX manual; manual_title() makes it readable.
    std::string manual;
    /// What the construct needs against what the module has; for findings about availability.
    Requirement needed;
    Requirement present;
  };

  Kind kind{};
  Loc loc = Loc::None;
  Focus focus;

  Details* operator->() { return details_.get(); }
  const Details* operator->() const { return details_.get(); }

  // Out of line: every function that may refuse something would have a copy of them.
  Diagnostic();
  Diagnostic(Kind k, std::initializer_list<std::string> args);
  Diagnostic(const Diagnostic& other);
  Diagnostic(Diagnostic&& other) noexcept;
  Diagnostic& operator=(const Diagnostic& other);
  Diagnostic& operator=(Diagnostic&& other) noexcept;
  ~Diagnostic();

  Diagnostic&& at(Loc where, Focus what = {}) &&;
  /// The finding is about an argument of the call; where that stands, the reporter fills in.
  Diagnostic&& about(std::string_view parameter, std::uint16_t element = Focus::kWholeArgument) &&;
  Diagnostic&& label(Loc where, std::string text) &&;
  Diagnostic&& note(std::string text) &&;
  /// Without `where` the layer that holds the text finds the place.
  Diagnostic&& fix(std::string replacement, std::string reason, Loc where = Loc::None) &&;
  /// Suggests those of `known` that `word` may have been meant for.
  Diagnostic&& suggest(std::string_view word, std::span<const std::string> known) &&;
  Diagnostic&& see(std::string_view anchor) &&;

  std::string_view code() const { return info(kind).code; }
  Severity severity() const { return info(kind).severity; }
  /// The message: the kind's format with the arguments put in.
  std::string message() const;
  /// Resolves the places of the finding, its labels and its fix-its, for when `table` goes away.
  void resolve(const LocationTable& table);

 private:
  std::unique_ptr<Details> details_;
};

/// Several, in the order of the text or of discovery.
using Diagnostics = std::vector<Diagnostic>;

/// What fallible core functions return.
template <typename T>
using Result = support::Result<T, Diagnostic>;
using Status = Result<support::Unit>;

/// The finding as render() shows it; what a Result says of the error that its reader overlooked.
std::string describe(const Diagnostic& diagnostic);
/// Throws it as a diag::Exception (exception.h); what Result::or_throw() does.
[[noreturn]] void throw_error(Diagnostic diagnostic);

/// A success; an error, of a diagnostic or of the parts of one.
inline Status success() { return support::Unit{}; }
// Cold: the compiler then keeps what leads to a refusal out of the way of calls that succeed.
[[gnu::cold]] inline support::Failure<Diagnostic> fail(Diagnostic diagnostic) {
  return support::Failure<Diagnostic>{std::move(diagnostic)};
}
[[gnu::cold]] inline support::Failure<Diagnostic> fail(
    Kind kind, std::initializer_list<std::string> arguments) {
  return fail(Diagnostic(kind, arguments));
}

}  // namespace pyptx::diag
