// SPDX-License-Identifier: Apache-2.0
//
// Exceptions of C++ as diagnostics, for the functions that C, XLA or a shell call: none of them can
// let one pass.
#pragma once

#include "pyptx/diag/diagnostic.h"

namespace pyptx::diag {

/// The exception that is being handled: OutOfMemory, or UnexpectedException with its words. To be
/// called inside a catch block.
Diagnostic current_exception();

}  // namespace pyptx::diag
