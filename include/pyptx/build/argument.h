// SPDX-License-Identifier: Apache-2.0
//
// How a refusal speaks of an argument: in an author's words, and by the parameter it was given for,
// so that the caret lies under the argument and not under the whole call.
#pragma once

#include <cstdint>
#include <string_view>

#include "pyptx/diag/loc.h"

namespace pyptx::build {

/// Valid only while the call it is passed to runs; `parameter` must be a literal.
struct Argument {
  /// A parameter that is its own description: "cta_group".
  constexpr Argument(const char* name) : words(name), parameter(name) {}  // NOLINT(*-explicit-*)
  /// `parameter` may list several names, "b|mbar": helpers that share a check call theirs
  /// differently. `element` is which one of a tuple.
  constexpr Argument(std::string_view in_words, const char* name,
                     std::uint16_t index = diag::Focus::kWholeArgument)
      : words(in_words), parameter(name), element(index) {}

  diag::Focus focus() const { return diag::Focus::argument(parameter, element); }

  std::string_view words;
  std::string_view parameter;
  std::uint16_t element = diag::Focus::kWholeArgument;
};

/// Which parameters a matrix tile, and where in K it begins, were given for.
struct TileParameters {
  const char* tile = "shape";
  const char* k_offset = "k_offset";

  static TileParameters of(bool is_a) {
    return is_a ? TileParameters{"a", "a_k_offset"} : TileParameters{"b", "b_k_offset"};
  }
};

}  // namespace pyptx::build
