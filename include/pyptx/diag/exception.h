// SPDX-License-Identifier: Apache-2.0
//
// Exceptions of C++ as diagnostics, for the functions that C, XLA or a shell call: none of them can
// let one pass.
#pragma once

#include <string>

#include "pyptx/diag/diagnostic.h"

namespace pyptx::diag {

/// The exception that is being handled: OutOfMemory, or UnexpectedException with its words. To be
/// called inside a catch block.
Diagnostic current_exception();

/// The same as C can be told it: of which kind it is, and its text.
struct ExceptionWords {
  Kind kind;
  std::string text;
};
/// Of the exception that is being handled. Where there is no memory for its text either, that is
/// what it says.
ExceptionWords words_of_current_exception() noexcept;

}  // namespace pyptx::diag
