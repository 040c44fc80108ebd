// SPDX-License-Identifier: Apache-2.0
//
// A warp as a state machine: a register file (structure of arrays, 32 lanes per register), and the
// lanes divided into splits, each with a program counter. One split runs at a time. The split with
// the lowest counter goes first and stops where another split stands, which reconverges structured
// code at the immediate post-dominator; a split that yields or waits lets the others run, so a
// spinning lane never starves the lane that it waits for (independent thread scheduling).
#pragma once

#include <array>
#include <bit>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "decode/program.h"
#include "shadow/shadow.h"

namespace pyptx::emu {

struct Cta;

/// What a split waits for. Polled by the scheduler: there are few warps in a cluster.
struct Wait {
  enum class Kind : u8 {
    None,
    Converge,        // for the lanes of `mask` to come to the same instruction
    Barrier,         // named barrier `address`, until generation != value
    ClusterBarrier,  // until generation != value
    Mbarrier,        // mbarrier at `address` of CTA `rank`, until phase != value
    CopyGroups,      // cp.async groups
    BulkGroups,
    WgmmaGroups,
    TensorColumns,  // until `value` columns of tensor memory are free
    TensorPair,     // the CTA pair's allocation (address 0) or freeing (1), until met != value
  };
  Kind kind = Kind::None;
  bool may_time_out = false;
  u32 rank = 0;
  u32 address = 0;
  u64 value = 0;
  u32 mask = 0;
};

struct Split {
  u32 pc = 0;
  u32 mask = 0;
  bool behind = false;  // yielded: others first
  bool timed_out = false;
  bool resumed = false;  // the wait is over: the instruction runs again knowing so
  Wait wait;
};

struct Warp {
  const Program* program = nullptr;
  Cta* cta = nullptr;
  std::byte* registers = nullptr;
  u64* counts = nullptr;  // per instruction, shared by the warps of one OS thread
  u32 id = 0;             // in the CTA
  u32 live = 0;           // lanes that have not exited
  u32 lanes = 0;          // lanes that exist
  u32 pc = 0;             // of the running split
  u32 active = 0;
  u32 limit = ~0U;  // where the running split meets another
  u32 current = 0;  // index of the running split
  u32 split_count = 0;
  std::array<Split, kLanes> splits{};
  u32 jumps_back = 0;
  u32 fruitless_polls = 0;
  u64 poll_progress = 0;
  u32 cluster_arrived = 0;          // lanes that arrived in the cluster barrier's current phase
  u32 cluster_owed = 0;             // lanes that arrived at it and have not waited
  u32 carry = 0;                    // the condition code, a bit per lane
  std::array<u32, kLanes> stack{};  // bytes that alloca has taken
  u64 issued_groups = 0;            // wgmma: see async/wgmma_queue.h
  std::vector<u32> unwritten;       // lanes that have not written it, of each Program::unwritten
  std::unique_ptr<Shadow> shadow;   // null: all that was read had a value
  std::unique_ptr<diag::Diagnostic> fault;

  u32* lanes32(u32 offset) { return reinterpret_cast<u32*>(registers + offset); }
  u64* lanes64(u32 offset) { return reinterpret_cast<u64*>(registers + offset); }
  u32& predicate(u32 offset) { return *reinterpret_cast<u32*>(registers + offset); }
  bool done() const { return live == 0; }

  /// Runs until the budget is spent or nothing of the warp can run. True when something ran; what
  /// is left of the budget stays there.
  bool run(u32& budget);
  /// Sends `taken` lanes of the running split to `target`; the others go on behind it.
  Step branch(u32 taken, u32 target);
  /// Sends the lanes of `groups` (masks and targets, every lane once) to where they go; the others
  /// of the running split go on behind it.
  Step scatter(std::span<const std::pair<u32, u32>> groups);
  Step exit_lanes(u32 mask);
  /// Next when all of `member` (live) lanes are in `mask`, else waits for them.
  Step converge(const Inst& inst, u32 member, u32 mask);
  Step block(Wait wait) {
    splits[current].wait = wait;
    return Step::Wait;
  }
  /// True once, when the running split comes back from the wait it asked for here.
  bool take_resumed() { return std::exchange(splits[current].resumed, false); }
  Step fail(const Inst& inst, diag::Diagnostic diagnostic);
  /// The instruction starts again, through the shadow that the warp has got.
  Step restart() {
    splits[current].wait = {};
    return Step::Wait;
  }
  /// Says where a diagnostic belongs: the source, the block, the thread.
  void place(const Inst& inst, u32 lane, diag::Diagnostic& diagnostic) const;
  /// The lowest lane of `mask`.
  static u32 first_lane(u32 mask) { return static_cast<u32>(std::countr_zero(mask)); }

 private:
  bool select();
  void store_current();
  void merge_at(u32 where);
  void update_limit();
  template <bool kCarries>
  bool execute(u32& budget);
};

}  // namespace pyptx::emu
