// SPDX-License-Identifier: Apache-2.0
//
// Diagnostics: a kind with a permanent code, its arguments, a place, notes and help. Text is
// rendered last (render.h), so the same object gives the terminal message and the JSON.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pyptx/diag/loc.h"
#include "pyptx/support/result.h"

namespace pyptx::diag {

enum class Severity : std::uint8_t { Error, Warning, Lint };

enum class Kind : std::uint16_t {
#define PYPTX_DIAGNOSTIC(name, code, severity, format) name,
#include "pyptx/diag/kinds.def"
#undef PYPTX_DIAGNOSTIC
};

struct KindInfo {
  std::string_view name;
  std::string_view code;
  Severity severity;
  std::string_view format;
};

const KindInfo& info(Kind kind);
/// The kind with this code ("PTX0202"), if there is one.
std::optional<Kind> kind_from_code(std::string_view code);
/// Every kind, in registry order.
std::vector<Kind> all_kinds();

/// A suggested replacement for the focused text.
struct FixIt {
  std::string replacement;
  std::string reason;
};

struct Diagnostic {
  Kind kind{};
  std::vector<std::string> arguments;
  Loc loc = Loc::None;
  Focus focus;
  /// Set when the place was resolved before the location table went away.
  std::optional<Place> place;
  std::vector<std::string> notes;
  std::vector<FixIt> fixits;
  /// Anchor of the section of the PTX manual.
  std::string manual;

  Diagnostic() = default;
  Diagnostic(Kind k, std::initializer_list<std::string> args) : kind(k), arguments(args) {}

  Diagnostic&& at(Loc where, Focus what = {}) && {
    loc = where;
    focus = what;
    return std::move(*this);
  }
  Diagnostic&& note(std::string text) && {
    notes.push_back(std::move(text));
    return std::move(*this);
  }
  Diagnostic&& fix(std::string replacement, std::string reason) && {
    fixits.push_back({std::move(replacement), std::move(reason)});
    return std::move(*this);
  }

  std::string_view code() const { return info(kind).code; }
  Severity severity() const { return info(kind).severity; }
  /// The message: the kind's format with the arguments put in.
  std::string message() const;
};

using Diagnostics = std::vector<Diagnostic>;

/// What fallible core functions return.
template <typename T>
using Result = support::Result<T, Diagnostic>;
using Status = Result<support::Unit>;

inline Status success() { return support::Unit{}; }
inline support::Failure<Diagnostic> fail(Diagnostic diagnostic) {
  return support::Failure<Diagnostic>{std::move(diagnostic)};
}
inline support::Failure<Diagnostic> fail(Kind kind, std::initializer_list<std::string> arguments) {
  return fail(Diagnostic(kind, arguments));
}

}  // namespace pyptx::diag
