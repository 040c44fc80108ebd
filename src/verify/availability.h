// SPDX-License-Identifier: Apache-2.0
//
// The words for what a module's version or target does not have.
#pragma once

#include <string>

#include "pyptx/diag/diagnostic.h"
#include "pyptx/ir/module.h"
#include "pyptx/isa/target.h"
#include "pyptx/verify/instruction.h"

namespace pyptx::verify {

/// TargetTooLow, VersionTooHigh or VersionTooLow for `what`, with what is needed and present. A
/// module whose version is not settled (VersionMode::Lowest) has none to speak of.
diag::Diagnostic unavailable(const ir::Module& module, const isa::Availability& needs,
                             const std::string& what, VersionMode mode = VersionMode::Pinned);

}  // namespace pyptx::verify
