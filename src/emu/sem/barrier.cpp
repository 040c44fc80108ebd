// SPDX-License-Identifier: Apache-2.0
//
// bar, barrier and barrier.cluster (PTX ISA, "Parallel Synchronization and Communication
// Instructions: bar, barrier; barrier.cluster"). A warp that executes an aligned form counts with
// all of its threads; the others count lane by lane.
#include <bit>

#include "cluster.h"
#include "lanes.h"
#include "select.h"

namespace pyptx::emu {
namespace {

Step refuse(Warp& warp, const Inst& inst, u32 id, const std::string& why) {
  return warp.fail(inst, diag::Diagnostic(diag::Kind::EmuBarrier, {std::to_string(id), why}));
}

/// inst.a: barrier, inst.b: thread count (flag), flag2: arrive only, kind: aligned.
Step barrier(Warp& warp, const Inst& inst, u32 mask) {
  if (warp.take_resumed()) return Step::Next;
  if (inst.kind != 0) {
    const Step step = warp.converge(inst, warp.live, mask);
    if (step != Step::Next) return step;
  }
  const u32 lane = Warp::first_lane(mask);
  const u32 id = warp.lanes32(inst.a)[lane];
  if (id >= 16) return refuse(warp, inst, id, "there are 16 barriers, 0 to 15");
  const u32 count = inst.flag ? warp.lanes32(inst.b)[lane] : 0;
  if (inst.flag && (count == 0 || count % kLanes != 0)) {
    return refuse(warp, inst, id,
                  "the thread count must be a multiple of 32, got " + std::to_string(count));
  }
  NamedBarrier& bar = warp.cta->barriers[id];
  if (bar.arrived != 0 && (bar.whole_cta == inst.flag || bar.expected != count)) {
    const std::string other =
        bar.whole_cta ? "the whole CTA" : std::to_string(bar.expected) + " threads";
    const std::string here = inst.flag ? std::to_string(count) + " threads" : "the whole CTA";
    return refuse(warp, inst, id,
                  "warps that wait here expect " + other + ", this one expects " + here);
  }
  const u64 generation = bar.generation;
  bar.whole_cta = !inst.flag;
  bar.expected = count;
  // A count is in whole warps: the last lanes of a warp stand for those that have exited.
  const bool is_whole_warp = inst.flag && (inst.kind != 0 || mask == warp.live);
  bar.arrived += is_whole_warp ? kLanes : static_cast<u32>(std::popcount(mask));
  if (inst.flag && bar.arrived > count) {
    return refuse(warp, inst, id,
                  std::to_string(bar.arrived) + " threads arrived where " + std::to_string(count) +
                      " are expected");
  }
  ++warp.cta->cluster->progress;
  warp.cta->settle(bar);
  if (inst.flag2 || bar.generation != generation) return Step::Next;
  Wait wait;
  wait.kind = Wait::Kind::Barrier;
  wait.address = id;
  wait.value = generation;
  return warp.block(wait);
}

Step cluster_arrive(Warp& warp, const Inst& inst, u32 mask) {
  if (inst.kind != 0) {
    const Step step = warp.converge(inst, warp.live, mask);
    if (step != Step::Next) return step;
  }
  Cluster& cluster = *warp.cta->cluster;
  if ((warp.cluster_owed & mask) != 0) {
    return warp.fail(
        inst, diag::Diagnostic(diag::Kind::EmuBarrier,
                               {"of the cluster", "a thread arrives again before it has waited"}));
  }
  warp.cluster_arrived |= mask;
  warp.cluster_owed |= mask;
  cluster.arrived += static_cast<u32>(std::popcount(mask));
  ++cluster.progress;
  cluster.settle_cluster_barrier();
  return Step::Next;
}

Step cluster_wait(Warp& warp, const Inst& inst, u32 mask) {
  warp.take_resumed();
  if (inst.kind != 0) {
    const Step step = warp.converge(inst, warp.live, mask);
    if (step != Step::Next) return step;
  }
  Cluster& cluster = *warp.cta->cluster;
  if ((warp.cluster_owed & mask) != mask) {
    return warp.fail(inst,
                     diag::Diagnostic(diag::Kind::EmuBarrier,
                                      {"of the cluster", "a thread waits that has not arrived"}));
  }
  if ((warp.cluster_arrived & mask) == 0) {
    warp.cluster_owed &= ~mask;
    return Step::Next;
  }
  Wait wait;
  wait.kind = Wait::Kind::ClusterBarrier;
  wait.value = cluster.generation;
  return warp.block(wait);
}

}  // namespace

Handler select_bar(Lowering& low) {
  Inst& out = low.out;
  low.take("cta");
  out.flag2 = low.is_word("arrive");
  if (!out.flag2 && !low.is_word("sync")) {
    return low.refuse("reductions over a barrier cannot run");
  }
  const bool is_aligned = low.take("aligned");
  // `bar` without a further word is the aligned form of `barrier`.
  out.kind = is_aligned || !low.is_opcode("barrier") ? 1 : 0;
  out.a = low.source(0, Ty::U32);
  if (low.count() > 1) {
    out.b = low.source(1, Ty::U32);
    out.flag = true;
  }
  return &barrier;
}

Handler select_barrier_cluster(Lowering& low) {
  low.take("cluster");
  low.ignore({"acquire", "release", "relaxed"});
  low.out.kind = low.take("aligned") ? 1 : 0;
  if (low.is_word("arrive")) return &cluster_arrive;
  return low.is_word("wait") ? &cluster_wait : nullptr;
}

}  // namespace pyptx::emu
