// SPDX-License-Identifier: Apache-2.0
//
// Registers of instructions and the kind of each semantics. See flow.h.
#include "shadow/flow.h"

#include <algorithm>
#include <bit>
#include <span>

#include "pyptx/isa/ids.h"
#include "pyptx/isa/spelling.h"

namespace pyptx::emu {
namespace {

using isa::Sem;

/// A pure function of registers: it gives some and names no memory. It may run a second time.
bool is_computation(const ir::Instruction& instruction, std::span<const ir::Operand> operands) {
  const isa::Form& form = *instruction.form().form;
  // These give a register too, and change the state of the CTA or of the thread.
  if (form.sem == Sem::bar || form.sem == Sem::alloca || form.sem == Sem::stacksave) return false;
  const auto& specs = instruction.form().operands;
  const bool gives = !specs.empty() && specs[0].role != isa::Role::Source;
  const bool names_memory =
      std::ranges::find(operands, ir::OperandKind::Address, &ir::Operand::kind) != operands.end();
  return form.flow == isa::Flow::Next && gives && !names_memory;
}

Flow::Kind kind_of(const ir::Instruction& instruction, std::span<const ir::Operand> operands) {
  switch (instruction.form().form->sem) {
    case Sem::ld:
      return Flow::Kind::Load;
    case Sem::st:
      return Flow::Kind::Store;
    case Sem::ldmatrix:
      return Flow::Kind::LoadMatrix;
    case Sem::stmatrix:
      return Flow::Kind::StoreMatrix;
    case Sem::wgmma_mma:
      return Flow::Kind::Product;
    case Sem::tcgen05_ld:
      return Flow::Kind::TensorLoad;
    case Sem::tcgen05_st:
      return Flow::Kind::TensorStore;
    default:
      return is_computation(instruction, operands) ? Flow::Kind::Compute : Flow::Kind::Use;
  }
}

/// The member mask is the last operand.
bool has_member_mask(Sem sem) {
  return sem == Sem::shfl || sem == Sem::vote || sem == Sem::match || sem == Sem::redux ||
         sem == Sem::elect;
}

bool takes_carry(Sem sem) { return sem == Sem::addc || sem == Sem::subc || sem == Sem::madc; }

void add_literal(const ir::Operand& operand, std::vector<u64>& literals) {
  const u64 bits = static_cast<u64>(operand.value);
  if (operand.kind == ir::OperandKind::Integer) literals.push_back(bits);
  if (operand.kind == ir::OperandKind::Float32) literals.push_back(bits & 0xFFFFFFFFU);
  if (operand.kind == ir::OperandKind::Float64) {
    literals.push_back(bits);
    literals.push_back(std::bit_cast<u32>(static_cast<float>(std::bit_cast<double>(bits))));
  }
}

Flow make_flow(const Program& program, const ir::Instruction& instruction) {
  const ir::Function& function = *program.function;
  const Sem sem = instruction.form().form->sem;
  Flow flow;
  const auto operands = function.operands_of(instruction);
  flow.kind = kind_of(instruction, operands);
  if (instruction.guard) flow.guard = static_cast<u32>(*instruction.guard);
  flow.reads_carry = takes_carry(sem);
  for (const isa::Modifier modifier : instruction.spelling->modifiers) {
    flow.writes_carry = flow.writes_carry || isa::text(modifier) == "cc";
  }
  const auto& specs = instruction.form().operands;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const isa::Role role = i < specs.size() ? specs[i].role : isa::Role::Source;
    const ir::Operand& operand = operands[i];
    add_literal(operand, flow.literals);
    Touched touched;
    const bool is_address = operand.kind == ir::OperandKind::Address;
    collect(function, operand, role != isa::Role::Source, touched);
    flow.results.insert(flow.results.end(), touched.writes.begin(), touched.writes.end());
    if (flow.kind == Flow::Kind::Product && i == 0) touched.reads = touched.writes;
    bool is_use =
        flow.kind == Flow::Kind::Use || (has_member_mask(sem) && i + 1 == operands.size());
    // Of a wgmma, only registers that hold numbers are carried on; a descriptor is none.
    is_use = is_use ||
             (flow.kind == Flow::Kind::Product && i > 0 && operand.kind != ir::OperandKind::Vector);
    auto& to = is_address ? flow.addresses : is_use ? flow.uses : flow.sources;
    to.insert(to.end(), touched.reads.begin(), touched.reads.end());
  }
  return flow;
}

}  // namespace

void collect(const ir::Function& function, const ir::Operand& operand, bool is_write,
             Touched& touched) {
  switch (operand.kind) {
    case ir::OperandKind::Register:
    case ir::OperandKind::NotRegister:
    case ir::OperandKind::NegatedRegister:
      (is_write ? touched.writes : touched.reads).push_back(operand.index);
      return;
    case ir::OperandKind::Address:
      is_write = false;  // its registers are read, whatever happens to the memory
      [[fallthrough]];
    case ir::OperandKind::Vector:
    case ir::OperandKind::Parenthesized:
    case ir::OperandKind::Pipe:
      for (const ir::Operand& child : function.children(operand)) {
        collect(function, child, is_write, touched);
      }
      return;
    default:
      return;
  }
}

Touched touched_by(const ir::Function& function, const ir::Instruction& instruction) {
  Touched touched;
  const auto operands = function.operands_of(instruction);
  const auto& specs = instruction.form().operands;
  const bool is_matrix = instruction.form().form->sem == Sem::wgmma_mma;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const isa::Role role = i < specs.size() ? specs[i].role : isa::Role::Source;
    if (role == isa::Role::Source) {
      collect(function, operands[i], false, touched);
      continue;
    }
    const std::size_t first = touched.writes.size();
    collect(function, operands[i], true, touched);
    // A product of wmma may read its result where ptxas expands it; only wgmma's is an input.
    if (role == isa::Role::Both && is_matrix) {
      touched.accumulators.assign(touched.writes.begin() + static_cast<std::ptrdiff_t>(first),
                                  touched.writes.end());
    }
  }
  if (instruction.guard) touched.reads.push_back(static_cast<u32>(*instruction.guard));
  return touched;
}

const Flow& Flows::at(const Program& program, u32 pc) {
  std::call_once(once_, [&] {
    flows_.resize(program.code.size());  // the exit at the end has nothing
    for (std::size_t i = 0; i + 1 < program.code.size(); ++i) {
      flows_[i] = make_flow(program, program.source(program.code[i]));
    }
  });
  return flows_[pc];
}

}  // namespace pyptx::emu
