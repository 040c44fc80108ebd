// SPDX-License-Identifier: Apache-2.0
#include "pyptx/verify/places.h"

#include "operand.h"

namespace pyptx::verify {

Places places(const ir::Module& module, const ir::Function& function,
              const ir::Instruction& instruction) {
  const auto operands = function.operands_of(instruction);
  const Scope scope{module, function};
  Places found;
  found.operands.resize(operands.size());
  const auto fits = [&](const isa::Candidate& candidate) {
    return fit(scope, candidate.operands, operands, found.operands).ok();
  };
  // A module that nobody judged names the first form of each instruction.
  if (fits(instruction.form())) {
    found.form = &instruction.form();
    return found;
  }
  for (const isa::Candidate& candidate : instruction.spelling->candidates) {
    if (!fits(candidate)) continue;
    found.form = &candidate;
    return found;
  }
  found.operands.clear();
  return found;
}

}  // namespace pyptx::verify
