// SPDX-License-Identifier: Apache-2.0
//
// Diagnostics as exceptions of C++, for programs that use them: Result::or_throw(). And exceptions
// as diagnostics, for the functions that C, XLA or a shell call: none of them can let one pass.
#pragma once

#include <stdexcept>
#include <string>

#include "pyptx/diag/diagnostic.h"

namespace pyptx::diag {

/// What Result::or_throw() throws; what() is the rendered diagnostic. It is one type in all
/// libraries of a program, however they were built.
class __attribute__((visibility("default"))) Exception : public std::runtime_error {
 public:
  explicit Exception(Diagnostic diagnostic);
  const Diagnostic& diagnostic() const { return diagnostic_; }

 private:
  Diagnostic diagnostic_;
};

/// The exception that is being handled: the diagnostic of an Exception, OutOfMemory, or
/// UnexpectedException with its words. To be called inside a catch block.
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
