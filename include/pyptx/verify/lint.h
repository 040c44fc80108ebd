// SPDX-License-Identifier: Apache-2.0
//
// The second judgement: what the manual says against instructions that assemble. ptxas is looser
// than the manual (it ignores the order of modifiers, drops some doubled ones, takes combinations
// that no syntax line has); code that holds to the manual is code that the next ptxas takes too.
// Findings are lints, never errors; tracing does not ask for them, `pyptx check` does.
#pragma once

#include "pyptx/diag/diagnostic.h"
#include "pyptx/ir/module.h"

namespace pyptx::verify {

/// Adds NotManualOrder, NotByManual and DoubledModifier findings for an instruction that the judge
/// accepted.
void lint(const ir::Module& module, const ir::Function& function,
          const ir::Instruction& instruction, diag::Diagnostics& findings);

/// The same for every instruction of the module, in the order of the text.
diag::Diagnostics lint(const ir::Module& module);

}  // namespace pyptx::verify
