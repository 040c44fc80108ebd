// SPDX-License-Identifier: Apache-2.0
//
// What a module's version and target have, and the words for what they do not.
#pragma once

#include <string>

#include "pyptx/diag/diagnostic.h"
#include "pyptx/ir/module.h"
#include "pyptx/isa/target.h"
#include "pyptx/verify/instruction.h"

namespace pyptx::verify {

/// Has a module of settled version and target what `needs` says?
bool is_available(const ir::Module& module, const isa::Availability& needs);

/// TargetTooLow, VersionTooHigh or VersionTooLow for `what`, with what is needed and present. A
/// module whose version is not settled (VersionMode::Lowest) has none to speak of.
diag::Diagnostic unavailable(const ir::Module& module, const isa::Availability& needs,
                             const std::string& what, VersionMode mode = VersionMode::Pinned);

}  // namespace pyptx::verify
