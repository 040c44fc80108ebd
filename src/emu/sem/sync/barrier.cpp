// SPDX-License-Identifier: Apache-2.0
//
// bar, barrier and barrier.cluster (PTX ISA, "Parallel Synchronization and Communication
// Instructions: bar, barrier; barrier.cluster"). A warp that executes an aligned form counts with
// all of its threads; the others count lane by lane.
#include <bit>

#include "decode/select.h"
#include "machine/cluster.h"
#include "race/detector.h"
#include "sem/lanes.h"

namespace pyptx::emu {
namespace {

Step refuse(Warp& warp, const Inst& inst, u32 id, const std::string& why) {
  return warp.fail(inst, diag::Diagnostic(diag::Kind::EmuBarrier, {std::to_string(id), why}));
}

enum class BarrierReduce : u8 { None, Count, And, Or };

/// The result of a reduction, for the lanes that the barrier lets through.
void give_result(Warp& warp, const Inst& inst, u32 mask, const NamedBarrier& bar) {
  const BarrierReduce what = static_cast<BarrierReduce>(inst.kind2);
  if (what == BarrierReduce::Count) {
    each_active(mask, [&](u32 lane) { warp.lanes32(inst.d)[lane] = bar.last_votes; });
  } else if (what != BarrierReduce::None) {
    const bool is_true =
        what == BarrierReduce::And ? bar.last_votes == bar.last_arrived : bar.last_votes != 0;
    u32& p = warp.predicate(inst.d);
    p = is_true ? p | mask : p & ~mask;
  }
}

/// What those that the barrier lets through know of each other.
void learn(Warp& warp, const Inst& inst, u32 mask) {
  // Read before the result is written: it may go to the register that names the barrier.
  const u32 id = warp.lanes32(inst.a)[Warp::first_lane(mask)];
  give_result(warp, inst, mask, warp.cta->barriers[id]);
  RaceDetector* races = warp.cta->cluster->races.get();
  if (races == nullptr) return;
  races->passed(warp, mask, races->named_barrier(*warp.cta, id), warp.cta->barriers[id].generation);
  if ((warp.live & ~mask) == 0) races->sync_lanes(warp);
}

/// inst.a: barrier, inst.b: thread count (flag), flag2: arrive only, kind: aligned.
Step barrier(Warp& warp, const Inst& inst, u32 mask) {
  if (warp.take_resumed()) {
    learn(warp, inst, mask);
    return Step::Next;
  }
  if (inst.kind != 0) {
    const Step step = warp.converge(inst, warp.live, mask);
    if (step != Step::Next) return step;
  }
  const u32 lane = Warp::first_lane(mask);
  const u32 id = warp.lanes32(inst.a)[lane];
  if (id >= kCtaBarriers) {
    return refuse(warp, inst, id,
                  "the barriers of a CTA are 0 to " + std::to_string(kCtaBarriers - 1));
  }
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
  if (inst.kind2 != 0) {
    const u32 votes = (warp.predicate(inst.c) ^ inst.flip) & mask;
    bar.votes += static_cast<u32>(std::popcount(votes));
    // Lanes that do not exist or have left count as arrived, and must not spoil an `and`.
    if (is_whole_warp && static_cast<BarrierReduce>(inst.kind2) == BarrierReduce::And) {
      bar.votes += kLanes - static_cast<u32>(std::popcount(mask));
    }
  }
  if (inst.flag && bar.arrived > count) {
    return refuse(warp, inst, id,
                  std::to_string(bar.arrived) + " threads arrived where " + std::to_string(count) +
                      " are expected");
  }
  ++warp.cta->cluster->progress;
  if (RaceDetector* races = warp.cta->cluster->races.get()) {
    if (inst.flag2) {
      races->arrive(warp, mask, races->named_barrier(*warp.cta, id), generation);
    } else {
      races->meet(warp, mask, id, generation);
    }
  }
  warp.cta->settle(bar);
  if (inst.flag2) return Step::Next;
  if (bar.generation != generation) {
    learn(warp, inst, mask);
    return Step::Next;
  }
  Wait wait;
  wait.kind = Wait::Kind::Barrier;
  wait.address = id;
  wait.value = generation;
  return warp.block(wait);
}

/// e: member mask. The lanes it names meet, and see each other's memory.
Step sync_warp(Warp& warp, const Inst& inst, u32 mask) {
  const u32* members = warp.lanes32(inst.e);
  for (u32 rest = mask; rest != 0;) {
    const u32 first = Warp::first_lane(rest);
    if (((members[first] >> first) & 1U) == 0) {
      warp.active = 1U << first;
      return warp.fail(inst, diag::Diagnostic(diag::Kind::EmuConvergence,
                                              {warp.program->source(inst).spelling->text,
                                               "the executing lane is not in its member mask"}));
    }
    u32 same = 0;
    each_active(rest, [&](u32 i) { same |= (members[i] == members[first] ? 1U : 0U) << i; });
    const Step step = warp.converge(inst, members[first], same);
    if (step != Step::Next) return step;
    rest &= ~same;
  }
  if (RaceDetector* races = warp.cta->cluster->races.get()) races->sync_lanes(warp);
  return Step::Next;
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
  if (RaceDetector* races = cluster.races.get()) {
    if (inst.flag) {
      races->arrive_relaxed(warp, mask, races->cluster_barrier(), cluster.generation);
    } else {
      races->arrive(warp, mask, races->cluster_barrier(), cluster.generation);
    }
  }
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
    if (cluster.races) {
      cluster.races->passed(warp, mask, cluster.races->cluster_barrier(), cluster.generation);
      if ((warp.live & ~mask) == 0) cluster.races->sync_lanes(warp);
    }
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
  const bool is_reduction = low.is_word("red");
  low.is_word("sync");
  const bool is_aligned = low.take("aligned");
  // `bar` without a further word is the aligned form of `barrier`.
  out.kind = is_aligned || !low.is_opcode("barrier") ? 1 : 0;
  std::size_t next = 0;
  std::size_t count = low.count();
  if (is_reduction) {
    const BarrierReduce what = low.take("popc")  ? BarrierReduce::Count
                               : low.take("and") ? BarrierReduce::And
                                                 : BarrierReduce::Or;
    low.take("or");
    low.take_type();
    out.kind2 = static_cast<u8>(what);
    out.d =
        what == BarrierReduce::Count ? low.dest(0, Ty::U32) : low.predicate_dest(low.operand(0));
    bool negated = false;
    out.c = low.predicate(low.operand(--count), negated);
    out.flip = negated ? kAllLanes : 0;
    ++next;
  }
  out.a = low.source(next++, Ty::U32);
  if (next < count) {
    out.b = low.source(next, Ty::U32);
    out.flag = true;
  }
  return &barrier;
}

Handler select_bar_warp_sync(Lowering& low) {
  low.ignore({"warp", "sync"});
  low.out.e = low.source(0, Ty::U32);
  return &sync_warp;
}

Handler select_barrier_cluster(Lowering& low) {
  low.take("cluster");
  low.ignore({"acquire", "release"});
  low.out.flag = low.take("relaxed");
  low.out.kind = low.take("aligned") ? 1 : 0;
  if (low.is_word("arrive")) return &cluster_arrive;
  return low.is_word("wait") ? &cluster_wait : nullptr;
}

}  // namespace pyptx::emu
