// SPDX-License-Identifier: Apache-2.0
//
// The long story of every kind of diagnostic, for `pyptx explain CODE`: data in
// src/diag/explanations/*.def, one row per kind with the columns of Explanation. Examples in PTX
// are checked by tests: the wrong one gives the code, the right one does not.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "pyptx/diag/diagnostic.h"

namespace pyptx::diag {

/// What an example is written in, and how much of it.
enum class Example : std::uint8_t {
  Words,   // a situation in words: no text can provoke it
  Module,  // a whole PTX module
  Items,   // functions and variables of a PTX module
  Body,    // statements of a kernel
  Python,  // statements of a traced kernel
};

/// What a kind means, what to do, and examples.
struct Explanation {
  std::string_view title;
  std::string_view meaning;  // a paragraph
  std::string_view remedy;   // what to do
  Example example = Example::Words;
  std::string_view wrong;
  std::string_view right;
};

/// The story of a kind.
const Explanation& explanation(Kind kind);

/// The page that `pyptx explain` shows.
std::string explain(Kind kind);

}  // namespace pyptx::diag
