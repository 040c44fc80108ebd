// SPDX-License-Identifier: Apache-2.0
#include "flow.h"

#include <algorithm>

#include "opcode_class.h"
#include "pyptx/isa/spelling.h"

namespace pyptx::verify {
namespace {

using diag::Diagnostic;
using diag::Kind;

/// Operands before this one may be results. Optional operands shift the places, so that this may
/// take a source for a result, never a result for a source.
std::size_t result_places(const isa::Candidate& candidate) {
  for (std::size_t i = candidate.operands.size(); i > 0; --i) {
    if (candidate.operands[i - 1].role != isa::Role::Source) return i;
    for (const isa::OperandSpec& part : candidate.operands[i - 1].parts) {
      if (part.role != isa::Role::Source) return i;
    }
  }
  return 0;
}

bool ends_flow(const ir::Instruction& instruction) {
  if (instruction.guard) return false;
  switch (class_of(instruction.spelling->opcode)) {
    case OpcodeClass::Branch:
    case OpcodeClass::TableBranch:
    case OpcodeClass::Return:
      return true;
    default:
      return false;
  }
}

}  // namespace

void RegisterUse::begin(const ir::Function& function) {
  is_known_ = true;
  is_written_.assign(function.registers.size(), 0);
  first_read_.assign(function.registers.size(), kNever);
  // Parameters in registers come first and arrive with values.
  std::size_t parameters = 0;
  for (const auto* list : {&function.parameters, &function.returns}) {
    for (const ir::Variable& parameter : *list) {
      if (parameter.space == ir::Space::Register) ++parameters;
    }
  }
  std::fill_n(is_written_.begin(), std::min(parameters, is_written_.size()), std::uint8_t{1});
}

void RegisterUse::note_operands(const ir::Function& function, std::span<const ir::Operand> operands,
                                bool may_write, std::uint32_t index) {
  for (const ir::Operand& operand : operands) {
    switch (operand.kind) {
      case ir::OperandKind::Register:
        if (may_write) {
          is_written_[operand.index] = 1;
          break;
        }
        [[fallthrough]];
      case ir::OperandKind::NotRegister:
      case ir::OperandKind::NegatedRegister:
        first_read_[operand.index] = std::min(first_read_[operand.index], index);
        break;
      case ir::OperandKind::Address:
        note_operands(function, function.children(operand), false, index);
        break;
      case ir::OperandKind::Vector:
      case ir::OperandKind::Parenthesized:
      case ir::OperandKind::Pipe:
        note_operands(function, function.children(operand), may_write, index);
        break;
      default:
        break;
    }
  }
}

void RegisterUse::note(const ir::Function& function, std::uint32_t index) {
  const ir::Instruction& instruction = function.instructions[index];
  if (instruction.guard) {
    std::uint32_t& read = first_read_[static_cast<std::uint32_t>(*instruction.guard)];
    read = std::min(read, index);
  }
  const auto operands = function.operands_of(instruction);
  const std::size_t results = std::min(result_places(instruction.form()), operands.size());
  note_operands(function, operands.first(results), true, index);
  note_operands(function, operands.subspan(results), false, index);
}

void RegisterUse::report(Findings& findings, const ir::Function& function) const {
  if (!is_known_) return;
  for (std::size_t i = 0; i < first_read_.size(); ++i) {
    if (first_read_[i] == kNever || is_written_[i] != 0) continue;
    findings.add(Diagnostic(Kind::NeverWritten, {findings.module().name(function.registers[i]),
                                                 findings.name(function.name)})
                     .at(function.instructions[first_read_[i]].loc)
                     .see("register-state-space"));
  }
}

void check_reachable(Findings& findings, const ir::Function& function) {
  bool is_reached = true;
  for (const ir::Statement& statement : function.body) {
    if (statement.kind == ir::StatementKind::Label || statement.kind == ir::StatementKind::Raw ||
        statement.kind == ir::StatementKind::Unresolved) {
      is_reached = true;
    } else if (statement.kind == ir::StatementKind::Instruction) {
      const ir::Instruction& instruction = function.instructions[statement.index];
      if (!is_reached) findings.add(Diagnostic(Kind::Unreachable, {}).at(instruction.loc));
      is_reached = !is_reached || !ends_flow(instruction);
    }
  }
}

}  // namespace pyptx::verify
