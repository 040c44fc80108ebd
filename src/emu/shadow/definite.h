// SPDX-License-Identifier: Apache-2.0
//
// Which registers have a value on every way to an instruction. A thread's own way through the
// program is one of those of its control flow, so what is definite here is definite for each lane;
// only a guarded instruction writes in some lanes and not in others, and so counts for none.
#pragma once

#include <vector>

#include "shadow/flow.h"

namespace pyptx::emu {

class Definite {
 public:
  Definite(const Program& program, const std::vector<Touched>& touched);

  /// Calls visit(pc, id) for each register that an instruction may read before it has a value.
  /// The accumulators of a wgmma count as read.
  template <typename Visit>
  void each_read(Visit&& visit) const {
    std::vector<u64> now;
    for (const Block& block : blocks_) {
      if (!block.is_reached) continue;
      now = block.at_start;
      for (u32 pc = block.first; pc < block.end; ++pc) {
        for (const u32 id : touched_[pc].reads) {
          if (!has(now, id)) visit(pc, id);
        }
        for (const u32 id : touched_[pc].accumulators) {
          if (!has(now, id)) visit(pc, id);
        }
        apply(pc, now);
      }
    }
  }

 private:
  struct Block {
    u32 first = 0;
    u32 end = 0;
    bool is_reached = false;
    std::vector<u64> at_start;
    std::vector<u32> next;  // blocks
  };

  static bool has(const std::vector<u64>& set, u32 id) {
    return ((set[id / 64] >> (id % 64)) & 1U) != 0;
  }
  void apply(u32 pc, std::vector<u64>& set) const;
  void make_blocks();
  void solve(std::size_t words);
  /// Where the instruction may go on besides the next one.
  std::vector<u32> targets(u32 pc) const;
  bool falls_through(u32 pc) const;

  const Program& program_;
  const std::vector<Touched>& touched_;
  std::vector<Block> blocks_;
};

}  // namespace pyptx::emu
