// SPDX-License-Identifier: Apache-2.0
//
// wgmma of one warpgroup (PTX ISA, "Asynchronous Warpgroup Level Matrix Instructions"). The four
// warps issue the same sequence; an operation can run once all four have issued it. Groups are
// numbered; wait_group names how many may still be open.
#pragma once

#include <array>
#include <deque>
#include <utility>
#include <vector>

#include "decode/program.h"
#include "decode/register_checks.h"

namespace pyptx::emu {

struct Cta;
struct Warp;

struct WgmmaOp {
  const Inst* inst = nullptr;
  u64 a_descriptor = 0;
  u64 b_descriptor = 0;
  bool scale_d = true;
  u64 group = 0;
  u32 issued = 0;  // bit per warp
  u64 ticket = 0;  // of the observer
  bool is_done = false;
};

class WarpgroupQueue {
 public:
  struct WarpState {
    u64 issued = 0;  // operations since the start
    u64 groups = 0;  // commits since the start
    /// Issued and not waited for, with their groups: their registers are not the warp's.
    std::vector<std::pair<const Inst*, u64>> flying;
    /// Notes that the instruction is issued, in the group that is open; an earlier issue of it is
    /// over no later.
    void fly(const Inst& inst);
    MatrixRegisters unfenced;  // written since the last wgmma.fence
    bool has_fenced = false;   // the first wgmma wants a fence in any case
  };

  /// The record of the next operation of this warp; made by the first of the four.
  WgmmaOp& next(u32 warp_in_group, bool& is_new);
  void commit(u32 warp_in_group) { ++warps_[warp_in_group].groups; }
  WarpState& state(u32 warp_in_group) { return warps_[warp_in_group]; }
  /// Runs what all four warps have issued, up to group `end`. False: some is not issued by all.
  bool complete(Cta& cta, u32 warpgroup, u64 end);
  bool is_open(u64 end) const;
  bool empty() const { return ops_.empty(); }
  /// Operations that are kept back at most.
  static constexpr std::size_t kMostPending = 1U << 14;
  bool is_full() const { return ops_.size() >= kMostPending; }
  /// Runs the oldest operation. False: it is not issued by all.
  bool complete_oldest(Cta& cta, u32 warpgroup);
  void drop_done();

 private:
  static void run(Cta& cta, u32 warpgroup, WgmmaOp& op);

  std::deque<WgmmaOp> ops_;
  u64 first_ = 0;  // number of ops_.front()
  std::array<WarpState, 4> warps_{};
};

/// Computes D = A * B + D for the 64 rows of the warpgroup (wgmma.cpp).
void perform(Cta& cta, u32 warpgroup, const WgmmaOp& op);

}  // namespace pyptx::emu
