// SPDX-License-Identifier: Apache-2.0
//
// Operands and instructions as text; see printer.h for the rules.
#pragma once

#include "pyptx/ir/module.h"
#include "text_writer.h"

namespace pyptx::syntax {

void write_operand(TextWriter& out, const ir::Module& module, const ir::Function& function,
                   const ir::Operand& operand);
/// Without indentation and newline.
void write_instruction(TextWriter& out, const ir::Module& module, const ir::Function& function,
                       const ir::Instruction& instruction);
void write_instruction(TextWriter& out, const ir::Module& module, const ir::Function& function,
                       const ir::UnresolvedInstruction& instruction);

}  // namespace pyptx::syntax
