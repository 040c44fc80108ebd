// SPDX-License-Identifier: Apache-2.0
//
// Which registers an instruction touches, where a register cannot have a value yet, and what is
// said about it. See guard.h.
#include "guard.h"

#include <algorithm>
#include <string>
#include <unordered_map>

#include "cluster.h"
#include "pyptx/isa/ids.h"

namespace pyptx::emu {
namespace {

struct Touched {
  std::vector<u32> reads;  // register ids
  std::vector<u32> writes;
};

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
  // A product of wmma may read its result where ptxas expands it; only wgmma's result is an input.
  const bool accumulates = instruction.form().form->sem == isa::Sem::wgmma_mma;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const isa::Role role = i < specs.size() ? specs[i].role : isa::Role::Source;
    if (role != isa::Role::Source) collect(function, operands[i], true, touched);
    if (role == isa::Role::Source || (role == isa::Role::Both && accumulates)) {
      collect(function, operands[i], false, touched);
    }
  }
  if (instruction.guard) touched.reads.push_back(static_cast<u32>(*instruction.guard));
  return touched;
}

bool is_matrix(const Program& program, u32 pc) {
  return program.source(program.code[pc]).form().form->sem == isa::Sem::wgmma_mma;
}

/// Registers that may have been written when each instruction starts.
class Written {
 public:
  explicit Written(const Program& program, const std::vector<Touched>& touched)
      : words_((program.function->registers.size() + 63) / 64), count_(touched.size()) {
    constexpr std::size_t kMostWords = 1U << 22;
    is_known_ = words_ * count_ <= kMostWords;
    if (!is_known_) return;
    bits_.resize(words_ * count_);
    reached_.resize(count_);
    if (count_ != 0) reached_[0] = true;
    bool has_changed = true;
    while (has_changed && is_known_) {
      has_changed = false;
      for (u32 pc = 0; pc < count_; ++pc) {
        if (reached_[pc]) has_changed |= follow(program, touched[pc], pc);
      }
    }
  }
  /// False only when no way to `pc` writes it.
  bool may_hold(u32 pc, u32 id) const {
    if (!is_known_ || !reached_[pc]) return true;
    return ((bits_[pc * words_ + id / 64] >> (id % 64)) & 1U) != 0;
  }

 private:
  bool follow(const Program& program, const Touched& touched, u32 pc) {
    std::vector<u64> after(bits_.begin() + static_cast<std::ptrdiff_t>(pc * words_),
                           bits_.begin() + static_cast<std::ptrdiff_t>((pc + 1) * words_));
    for (const u32 id : touched.writes) after[id / 64] |= u64{1} << (id % 64);
    const Inst& inst = program.code[pc];
    const ir::Instruction& source = program.source(inst);
    const isa::Flow flow = source.form().form->flow;
    bool has_changed = false;
    if (flow == isa::Flow::Call) is_known_ = false;
    if (flow == isa::Flow::Jump) {
      const auto operands = program.function->operands_of(source);
      const bool is_plain = operands.size() == 1 && operands[0].kind == ir::OperandKind::Label;
      if (!is_plain) is_known_ = false;
      if (is_plain) has_changed |= merge(inst.target, after);
    }
    if (flow == isa::Flow::Next || source.guard) has_changed |= merge(pc + 1, after);
    return has_changed;
  }
  bool merge(u32 to, const std::vector<u64>& from) {
    if (to >= count_) return false;
    bool has_changed = !reached_[to];
    reached_[to] = true;
    for (std::size_t i = 0; i < words_; ++i) {
      u64& word = bits_[to * words_ + i];
      has_changed = has_changed || (from[i] & ~word) != 0;
      word |= from[i];
    }
    return has_changed;
  }

  std::size_t words_;
  std::size_t count_;
  bool is_known_ = true;
  std::vector<u64> bits_;
  std::vector<bool> reached_;
};

Step fail_unwritten(Warp& warp, const Inst& inst, u32 id) {
  const Program& program = *warp.program;
  const ir::Register& declared = program.function->registers[id];
  return warp.fail(inst, diag::Diagnostic(diag::Kind::EmuUninitialised,
                                          {"read of register", program.module->name(declared)}));
}

Step run_guarded(Warp& warp, const Inst& inst, u32 mask) {
  const Program& program = *warp.program;
  const u32 pc = static_cast<u32>(&inst - program.code.data());
  const Guard& guard = program.guards[program.guard_of[pc]];
  if (guard.unwritten != ~0U) return fail_unwritten(warp, inst, guard.unwritten);
  if (warp.id / 4 < warp.cta->wgmma.size()) {
    auto& state = warp.cta->wgmma[warp.id / 4].state(warp.id % 4);
    for (const u32 number : guard.writes) state.unfenced.add(number);
    if (!state.flying.empty()) {
      const Step step = check_flying(warp, inst, guard);
      if (step != Step::Next) return step;
    }
  }
  return guard.run(warp, inst, mask);
}

}  // namespace

Step check_flying(Warp& warp, const Inst& inst, const Guard& guard) {
  const Program& program = *warp.program;
  auto& state = warp.cta->wgmma[warp.id / 4].state(warp.id % 4);
  for (const auto& [flying, group] : state.flying) {
    const u32 pc = static_cast<u32>(flying - program.code.data());
    const Guard& owner = program.guards[program.guard_of[pc]];
    const auto overlaps = [](const std::vector<u32>& one, const std::vector<u32>& other) {
      for (const u32 number : one) {
        if (std::ranges::find(other, number) != other.end()) return true;
      }
      return false;
    };
    if (!overlaps(guard.reads, owner.writes) && !overlaps(guard.writes, owner.writes) &&
        !overlaps(guard.writes, owner.reads)) {
      continue;
    }
    if (warp.cta->cluster->launch->options.is_ignored(diag::Kind::EmuMatrixRegister)) break;
    const ir::Instruction& source = program.source(*flying);
    diag::Diagnostic diagnostic(diag::Kind::EmuMatrixRegister,
                                {program.source(inst).spelling->text});
    diag::Label label;
    label.text = "issued here";
    label.loc = source.loc;
    label.place = program.module->locations.resolve(source.loc);
    diagnostic.labels.push_back(std::move(label));
    return warp.fail(inst, std::move(diagnostic));
  }
  return Step::Next;
}

void add_guards(Program& program) {
  const u32 count = static_cast<u32>(program.code.size()) - 1;  // without the exit at the end
  std::vector<Touched> touched;
  std::unordered_map<u32, u32> numbers;  // registers of wgmma
  for (u32 pc = 0; pc < count; ++pc) {
    touched.push_back(touched_by(*program.function, program.source(program.code[pc])));
    if (!is_matrix(program, pc)) continue;
    const auto operands = program.function->operands_of(program.source(program.code[pc]));
    Touched own;
    collect(*program.function, operands[0], true, own);
    if (operands[1].kind == ir::OperandKind::Vector) {
      collect(*program.function, operands[1], true, own);
    }
    for (const u32 id : own.writes) numbers.try_emplace(id, static_cast<u32>(numbers.size()));
  }
  const Written written(program, touched);
  program.guard_of.assign(program.code.size(), 0);
  const auto numbers_of = [&](const std::vector<u32>& ids) {
    std::vector<u32> result;
    for (const u32 id : ids) {
      if (const auto at = numbers.find(id); at != numbers.end()) result.push_back(at->second);
    }
    return result;
  };
  for (u32 pc = 0; pc < count; ++pc) {
    Guard guard;
    guard.reads = numbers_of(touched[pc].reads);
    guard.writes = numbers_of(touched[pc].writes);
    const bool matrix = is_matrix(program, pc);
    for (const u32 id : touched[pc].reads) {
      if (!matrix && !written.may_hold(pc, id)) guard.unwritten = id;
    }
    if (guard.reads.empty() && guard.writes.empty() && guard.unwritten == ~0U) continue;
    guard.run = program.code[pc].run;
    if (!matrix) program.code[pc].run = &run_guarded;
    program.guard_of[pc] = static_cast<u32>(program.guards.size());
    program.guards.push_back(std::move(guard));
  }
}

}  // namespace pyptx::emu
