// SPDX-License-Identifier: Apache-2.0
#include "pyptx/analysis/operands.h"

#include <cstddef>

#include "pyptx/verify/places.h"

namespace pyptx::analysis {
namespace {

class Walk {
 public:
  Walk(const ir::Function& function, const std::function<void(const OperandUse&)>& visit)
      : function_(function), visit_(visit) {}

  /// `from` says where the operand stands; what it is made of inherits that.
  void operand(const ir::Operand& operand, OperandUse from) {
    if (!operand.is_composite()) {
      from.operand = operand;
      visit_(from);
      return;
    }
    if (operand.kind == ir::OperandKind::Address) {
      from.in_address = true;
      from.role = isa::Role::Source;
    }
    const isa::OperandSpec* whole = from.place;
    for (std::uint16_t i = 0; i < operand.count; ++i) {
      from.slot = operand.index + i;
      if (operand.kind == ir::OperandKind::Pipe && whole != nullptr && i < whole->parts.size()) {
        from.place = &whole->parts[i];
        from.role = from.place->role;
      }
      this->operand(function_.operands[from.slot], from);
    }
  }

 private:
  const ir::Function& function_;
  const std::function<void(const OperandUse&)>& visit_;
};

}  // namespace

void visit_operands(const ir::Module& module, const ir::Function& function,
                    const ir::Instruction& instruction,
                    const std::function<void(const OperandUse&)>& visit) {
  if (instruction.guard) {
    OperandUse guard;
    guard.operand = instruction.guard_negated ? ir::Operand::not_reg(*instruction.guard)
                                              : ir::Operand::reg(*instruction.guard);
    guard.index = OperandUse::kGuard;
    visit(guard);
  }
  const verify::Places places = verify::places(module, function, instruction);
  Walk walk(function, visit);
  for (std::uint16_t i = 0; i < instruction.operand_count; ++i) {
    OperandUse from;
    from.index = i;
    from.slot = instruction.first_operand + i;
    from.place = places.form != nullptr ? places.operands[i] : nullptr;
    from.role = from.place != nullptr ? from.place->role : isa::Role::Both;
    walk.operand(function.operands[from.slot], from);
  }
}

std::vector<OperandUse> registers_of(const ir::Module& module, const ir::Function& function,
                                     const ir::Instruction& instruction) {
  std::vector<OperandUse> found;
  visit_operands(module, function, instruction, [&](const OperandUse& use) {
    if (use.operand.is_register()) found.push_back(use);
  });
  return found;
}

isa::Effect effect_of(const ir::Module& module, const ir::Function& function,
                      const ir::Instruction& instruction) {
  const verify::Places places = verify::places(module, function, instruction);
  return places.form != nullptr ? places.form->form->effect : isa::Effect::Acts;
}

}  // namespace pyptx::analysis
