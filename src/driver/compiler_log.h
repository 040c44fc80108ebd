// SPDX-License-Identifier: Apache-2.0
//
// Reading the log of ptxas, which nvJitLink and the driver's JIT share:
//   ptxas <file>, line 7; error   : Unknown modifier '.foo'
// Messages are quoted, never reworded; the few failures with a better answer than "refused" (a
// version, a target or an option the compiler does not know) become their own diagnostics.
#pragma once

#include <string>
#include <string_view>

#include "pyptx/driver/assemble.h"

namespace pyptx::driver {

/// The failure of `compiler` (its name and version) with this log.
AssembleFailure refusal(std::string_view compiler, std::string_view target, std::string_view log);

/// A failure that is not about the text: the compiler could not be run, or broke off.
AssembleFailure breakdown(std::string_view compiler, std::string why);

}  // namespace pyptx::driver
