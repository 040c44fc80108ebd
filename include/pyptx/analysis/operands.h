// SPDX-License-Identifier: Apache-2.0
//
// What instructions read and write: a walk over their operands down to registers, names and
// literals, each with the role that the instruction table gives its place. Registers of an address
// are read, whatever happens to the memory; a guard is read. No instruction has an entry here.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "pyptx/ir/module.h"
#include "pyptx/isa/spelling.h"

namespace pyptx::analysis {

/// An operand without children, where it stands.
struct OperandUse {
  /// `index` of a guard.
  static constexpr std::uint16_t kGuard = UINT16_MAX;
  /// `slot` of a guard, which is no operand of the pool.
  static constexpr std::uint32_t kNoSlot = UINT32_MAX;

  ir::Operand operand;
  std::uint16_t index = 0;       // of the operand of the instruction that it is, or is part of
  std::uint32_t slot = kNoSlot;  // its place in Function::operands, where it can be replaced
  isa::Role role = isa::Role::Source;
  bool in_address = false;  // within [ ]
  /// The place it fills; null of a guard, and where the operands fit no form. Of {a, b} the place
  /// is the vector's, of d|p the part's.
  const isa::OperandSpec* place = nullptr;

  bool reads() const { return role != isa::Role::Destination; }
  bool writes() const { return role != isa::Role::Source; }
  /// Whether nothing of what a register held before is left: one component of a vector is not all.
  bool overwrites() const {
    return writes() && (operand.component == 0 || operand.component == ir::kVideoSelector);
  }
};

/// Calls `visit` for every operand of an instruction, in the order of the text, the guard first.
/// Where the operands fit no form every register may be read and written.
void visit_operands(const ir::Module& module, const ir::Function& function,
                    const ir::Instruction& instruction,
                    const std::function<void(const OperandUse&)>& visit);

/// The same as a list, of registers alone.
std::vector<OperandUse> registers_of(const ir::Module& module, const ir::Function& function,
                                     const ir::Instruction& instruction);

/// What the instruction does besides giving its results; Acts where the operands fit no form.
isa::Effect effect_of(const ir::Module& module, const ir::Function& function,
                      const ir::Instruction& instruction);

}  // namespace pyptx::analysis
