// SPDX-License-Identifier: Apache-2.0
//
// Places in C++ source: what a compiler tells of a call, one line and one column, and the file,
// where it is still there, give the stretch of text that a caret underlines.
#pragma once

#include <cstdint>

#include "pyptx/diag/loc.h"

namespace pyptx::diag {

/// The call, or the operand of an operator, at `line` and `column` of `file`, narrowed to `focus`.
/// Where the file cannot be read, or has changed so that nothing there looks like a call, the place
/// is what was given.
Place native_place(const char* file, std::uint32_t line, std::uint32_t column, Focus focus);

}  // namespace pyptx::diag
