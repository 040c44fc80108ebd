// SPDX-License-Identifier: Apache-2.0
//
// Checks of registers that cost nothing where they find nothing: decode works out which
// instructions touch registers of wgmma, or read a register that no path has written, and only
// those run through a guard.
#pragma once

#include <vector>

#include "decode/program.h"

namespace pyptx::emu {

/// Puts guards in front of the instructions of a decoded program.
void add_guards(Program& program);

/// Whether the instruction touches registers of a wgmma that its warp has not waited for.
Step check_flying(Warp& warp, const Inst& inst, const Guard& guard);

/// Sets of register numbers of one warp: used by wgmma under way, written since the last fence.
class MatrixRegisters {
 public:
  bool has(u32 number) const {
    return number / 64 < words_.size() && ((words_[number / 64] >> (number % 64)) & 1U) != 0;
  }
  void add(u32 number) {
    if (number / 64 >= words_.size()) words_.resize(number / 64 + 1);
    words_[number / 64] |= u64{1} << (number % 64);
  }
  void clear() { words_.clear(); }
  bool empty() const { return words_.empty(); }

 private:
  std::vector<u64> words_;
};

}  // namespace pyptx::emu
