// SPDX-License-Identifier: Apache-2.0
#include "pyptx/analysis/accesses.h"

#include <algorithm>
#include <cstddef>

namespace pyptx::analysis {
namespace {

/// Parameters in registers are the first registers of their function, in whatever order.
std::vector<ir::RegisterId> find_returned(const ir::Function& function) {
  const auto in_registers = [](const std::vector<ir::Variable>& list) {
    return static_cast<std::size_t>(
        std::ranges::count(list, ir::Space::Register, &ir::Variable::space));
  };
  const std::size_t parameters =
      std::min(in_registers(function.parameters) + in_registers(function.returns),
               function.registers.size());
  std::vector<ir::RegisterId> found;
  for (const ir::Variable& result : function.returns) {
    if (result.space != ir::Space::Register) continue;
    for (std::size_t i = 0; i < parameters; ++i) {
      if (function.registers[i].stem == result.name) {
        found.push_back(static_cast<ir::RegisterId>(i));
      }
    }
  }
  return found;
}

}  // namespace

Accesses::Accesses(const ir::Module& module, const ir::Function& function)
    : returned_(find_returned(function)),
      registers_(static_cast<std::uint32_t>(function.registers.size())) {
  first_.reserve(function.body.size() + 1);
  for (const ir::Statement& statement : function.body) {
    first_.push_back(static_cast<std::uint32_t>(uses_.size()));
    is_guarded_.push_back(false);
    if (statement.kind != ir::StatementKind::Instruction) {
      const bool is_unknown = statement.kind == ir::StatementKind::Raw ||
                              statement.kind == ir::StatementKind::Unresolved ||
                              statement.kind == ir::StatementKind::Error;
      effects_.push_back(is_unknown ? isa::Effect::Acts : isa::Effect::None);
      continue;
    }
    const ir::Instruction& instruction = function.instructions[statement.index];
    is_guarded_.back() = static_cast<bool>(instruction.guard);
    for (const OperandUse& use : registers_of(module, function, instruction)) uses_.push_back(use);
    effects_.push_back(effect_of(module, function, instruction));
  }
  first_.push_back(static_cast<std::uint32_t>(uses_.size()));
}

}  // namespace pyptx::analysis
