// SPDX-License-Identifier: Apache-2.0
//
// One product of 16 or 8 rows and 8 columns on its way through the panels: accumulators out of
// registers, and back into them.
#pragma once

#include "machine/cluster.h"
#include "numerics/panel.h"
#include "sem/matrix/mma_form.h"

namespace pyptx::emu {

/// Elements along K that one register file of A or B can hold: sparse 4-bit B.
inline constexpr u32 kGreatestDepth = 128;

class MmaTile {
 public:
  MmaTile(Warp& warp, const Inst& inst, const MmaForm& form)
      : warp_(warp), form_(form), list_(warp.program->lists.data() + inst.list) {}

  u32 a_panels() const { return form_.rows / 2; }
  void read_a(u32 row_block, bool takes_pairs_apart);
  void read_b(u32 column_block, bool takes_pairs_apart);
  void read_c(u32 row_block, u32 column_block);
  /// Keeps D of the block; D may be A, B or C, so that registers change only at the end.
  void keep_d(u32 row_block, u32 column_block);
  void write_d();
  /// What the panels hold now, the accumulators included.
  Panels panels(u32 depth);

  float* a() { return a_; }
  float* b() { return b_; }
  /// Output vector of A panel p and B panel q.
  float* vector(u32 p, u32 q) { return sums_[p / 4 * 2 + q] + p % 4 * kVector; }
  /// Lanes of the register that the list has at `at`.
  u32* lanes(u32 at) { return warp_.lanes32(list_[at]); }

 private:
  void add_integers(u32 row_block, u32 column_block);

  Warp& warp_;
  const MmaForm& form_;
  const u32* list_;
  float sums_[4][kLanes];  // [half of the rows * 2 + side][lane]
  u32 results_[8][kLanes];
  float* vectors_[8][2];
  float a_[8 * kGreatestDepth / 2 * kVector];
  float b_[2 * kGreatestDepth * kVector];
};

/// The rule of the launch for this instruction, for `depth` products of an output.
SumRule rule_of(const Warp& warp, const MmaForm& form, u32 depth);

}  // namespace pyptx::emu
