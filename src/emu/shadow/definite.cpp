// SPDX-License-Identifier: Apache-2.0
//
// Forward dataflow over basic blocks: the intersection over the ways in. See definite.h.
#include "shadow/definite.h"

#include <algorithm>

#include "pyptx/isa/ids.h"

namespace pyptx::emu {

Definite::Definite(const Program& program, const std::vector<Touched>& touched)
    : program_(program), touched_(touched) {
  make_blocks();
  solve((program.function->registers.size() + 63) / 64);
}

std::vector<u32> Definite::targets(u32 pc) const {
  const Inst& inst = program_.code[pc];
  const ir::Instruction& source = program_.source(inst);
  if (source.form().form->flow != isa::Flow::Jump) return {};
  if (source.form().form->sem != isa::Sem::brx) return {inst.target};
  const auto first = program_.lists.begin() + inst.list;
  return {first, first + inst.list_count};
}

bool Definite::falls_through(u32 pc) const {
  const ir::Instruction& source = program_.source(program_.code[pc]);
  const isa::Flow flow = source.form().form->flow;
  return source.guard || flow == isa::Flow::Next || flow == isa::Flow::Call;
}

void Definite::make_blocks() {
  const u32 count = static_cast<u32>(touched_.size());
  std::vector<bool> leads(count + 1);
  leads[0] = true;
  for (u32 pc = 0; pc < count; ++pc) {
    const std::vector<u32> to = targets(pc);
    for (const u32 target : to) leads[std::min(target, count)] = true;
    if (!to.empty() || !falls_through(pc)) leads[pc + 1] = true;
  }
  std::vector<u32> block_of(count + 1, ~0U);
  for (u32 pc = 0; pc < count; ++pc) {
    if (leads[pc]) blocks_.push_back({pc, pc, false, {}, {}});
    block_of[pc] = static_cast<u32>(blocks_.size()) - 1;
    blocks_.back().end = pc + 1;
  }
  for (Block& block : blocks_) {
    const u32 last = block.end - 1;
    for (const u32 target : targets(last)) {
      if (target < count) block.next.push_back(block_of[target]);
    }
    if (falls_through(last) && block.end < count) block.next.push_back(block_of[block.end]);
  }
}

void Definite::apply(u32 pc, std::vector<u64>& set) const {
  if (program_.source(program_.code[pc]).guard) return;
  for (const u32 id : touched_[pc].writes) set[id / 64] |= u64{1} << (id % 64);
}

void Definite::solve(std::size_t words) {
  if (blocks_.empty()) return;
  blocks_[0].is_reached = true;
  blocks_[0].at_start.assign(words, 0);
  std::vector<u32> open{0};
  std::vector<bool> is_open(blocks_.size());
  is_open[0] = true;
  std::vector<u64> now;
  while (!open.empty()) {
    // The lowest block first: a loop's body is done before what follows it.
    std::ranges::pop_heap(open, std::greater{});
    const u32 number = open.back();
    open.pop_back();
    is_open[number] = false;
    now = blocks_[number].at_start;
    for (u32 pc = blocks_[number].first; pc < blocks_[number].end; ++pc) apply(pc, now);
    for (const u32 next : blocks_[number].next) {
      Block& block = blocks_[next];
      bool has_changed = !block.is_reached;
      if (block.is_reached) {
        for (std::size_t i = 0; i < words; ++i) {
          has_changed = has_changed || (block.at_start[i] & ~now[i]) != 0;
          block.at_start[i] &= now[i];
        }
      } else {
        block.at_start = now;
        block.is_reached = true;
      }
      if (!has_changed || is_open[next]) continue;
      is_open[next] = true;
      open.push_back(next);
      std::ranges::push_heap(open, std::greater{});
    }
  }
}

}  // namespace pyptx::emu
