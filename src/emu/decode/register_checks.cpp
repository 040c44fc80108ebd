// SPDX-License-Identifier: Apache-2.0
//
// Which registers an instruction touches, where a register cannot have a value yet, and what is
// said about it. See register_checks.h.
#include "decode/register_checks.h"

#include <algorithm>
#include <string>
#include <unordered_map>

#include "decode/label.h"
#include "machine/cluster.h"
#include "pyptx/isa/ids.h"
#include "shadow/definite.h"

namespace pyptx::emu {
namespace {

bool is_matrix(const Program& program, u32 pc) {
  return program.source(program.code[pc]).form().form->sem == isa::Sem::wgmma_mma;
}

/// Whether an active lane reads what it has not written.
bool reads_unwritten(Warp& warp, const Inst& inst, const Guard& guard, u32 mask) {
  const auto is_unwritten = [&](u32 number) { return (warp.unwritten[number] & mask) != 0; };
  if (std::ranges::any_of(guard.checked, is_unwritten)) return true;
  if (guard.accumulators.empty()) return false;
  const bool adds = ((warp.predicate(inst.c) ^ inst.flip) & mask) != 0;  // scale-d
  return adds && std::ranges::any_of(guard.accumulators, is_unwritten);
}

/// Registers that an instruction may read before they have a value, by the instruction.
class Unwritten {
 public:
  Unwritten(Program& program, const std::vector<Touched>& touched) {
    const Definite definite(program, touched);
    definite.each_read([&](u32 pc, u32 id) {
      const auto [at, is_new] = numbers_.try_emplace(id, static_cast<u32>(numbers_.size()));
      if (is_new) program.unwritten.push_back(id);
      reads_[pc].push_back(id);
    });
  }

  /// What there is to be checked and noted at an instruction; false: nothing.
  bool add_to(Program& program, const Touched& touched, u32 pc, Guard& guard) const {
    for (const u32 id : touched.writes) {
      if (const auto at = numbers_.find(id); at != numbers_.end()) {
        guard.defined.push_back(at->second);
      }
    }
    const auto reads = reads_.find(pc);
    if (reads == reads_.end()) return !guard.defined.empty();
    Inst& inst = program.code[pc];
    const ir::Instruction& source = program.source(inst);
    for (const u32 id : reads->second) {
      const bool is_read = std::ranges::find(touched.reads, id) != touched.reads.end();
      (is_read ? guard.checked : guard.accumulators).push_back(numbers_.at(id));
      if (!source.guard || static_cast<u32>(*source.guard) != id) continue;
      guard.has_predicate = true;
      guard.predicate = inst.guard;
      guard.predicate_flip = inst.guard_flip;
      // The exit at the end has the guard that is always true.
      inst.guard = program.code.back().guard;
      inst.guard_flip = 0;
    }
    return true;
  }

 private:
  std::unordered_map<u32, u32> numbers_;  // id -> place in Program::unwritten
  std::unordered_map<u32, std::vector<u32>> reads_;
};

Step run_guarded(Warp& warp, const Inst& inst, u32 mask) {
  const Program& program = *warp.program;
  const u32 pc = static_cast<u32>(&inst - program.code.data());
  const Guard& guard = program.guards[program.guard_of[pc]];
  if (!warp.shadow && reads_unwritten(warp, inst, guard, mask) && !carries_undefined(warp)) {
    return warp.restart();
  }
  if (guard.has_predicate) {
    mask &= warp.predicate(guard.predicate) ^ guard.predicate_flip;
    if (mask == 0) return Step::Next;
  }
  for (const u32 number : guard.defined) warp.unwritten[number] &= ~mask;
  if (!guard.is_matrix && warp.id / 4 < warp.cta->wgmma.size()) {
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
    diag::Diagnostic diagnostic(diag::Kind::EmuMatrixRegister,
                                {program.source(inst).spelling->text});
    diagnostic->labels.push_back(label_at(program, *flying, "issued here"));
    return warp.fail(inst, std::move(diagnostic));
  }
  return Step::Next;
}

void add_guards(Program& program) {
  for (const Inst& inst : program.code) program.handlers.push_back(inst.run);
  program.flows = std::make_shared<Flows>();
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
  const Unwritten unwritten(program, touched);
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
    for (const u32 id : touched[pc].accumulators) {
      if (const auto at = numbers.find(id); at != numbers.end()) guard.reads.push_back(at->second);
    }
    guard.is_matrix = is_matrix(program, pc);
    const bool is_checked = unwritten.add_to(program, touched[pc], pc, guard);
    if (guard.reads.empty() && guard.writes.empty() && !is_checked) continue;
    guard.run = program.code[pc].run;
    if (!guard.is_matrix || is_checked) program.code[pc].run = &run_guarded;
    program.guard_of[pc] = static_cast<u32>(program.guards.size());
    program.guards.push_back(std::move(guard));
  }
}

}  // namespace pyptx::emu
