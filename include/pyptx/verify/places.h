// SPDX-License-Identifier: Apache-2.0
//
// Which place of its form each operand of an instruction stands in. Optional places may be empty,
// so that the position alone does not tell; the judge's own matching does, and this shows it to
// those who ask what an operand is for.
#pragma once

#include <vector>

#include "pyptx/ir/module.h"
#include "pyptx/isa/spelling.h"

namespace pyptx::verify {

/// A place for each operand.
struct Places {
  /// Null where the operands fit no form: the instruction is refused by the judge.
  const isa::Candidate* form = nullptr;
  /// One for each operand.
  std::vector<const isa::OperandSpec*> operands;
};

/// The form that the operands fit, the judge's choice first, whatever the target of the module has.
Places places(const ir::Module& module, const ir::Function& function,
              const ir::Instruction& instruction);

}  // namespace pyptx::verify
