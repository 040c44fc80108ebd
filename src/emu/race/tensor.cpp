// SPDX-License-Identifier: Apache-2.0
//
// Order in tensor memory (PTX ISA, "Memory Consistency Model for 5th generation of TensorCore
// operations"). mma and cp of a thread follow each other as they were issued; loads and stores are
// complete behind tcgen05.wait, mma and cp behind a commit and its mbarrier; across threads all of
// it counts between fence::before_thread_sync and fence::after_thread_sync only.
#include "async/tcgen05_queue.h"
#include "machine/cluster.h"
#include "race/detector.h"

namespace pyptx::emu {
namespace {

constexpr u32 kHalves = kTensorLanes / 16;

u32 cell_of(u32 half, u32 column) { return half * kTensorColumns + column; }

}  // namespace

bool RaceDetector::judge_tensor(const TensorView& by, u32 lane, u32 cell, Stamp other,
                                bool other_wrote) {
  if (other.actor() == by.mine.actor() && by.is_pipelined) return true;
  const Clock& known = by.is_blocking ? by.view.knowledge.base : by.view.state.tensor;
  if (known.covers(other)) return true;
  if (by.is_pipelined && channels_[other.actor()] == Channel::Tensor) {
    const Stamp issued = Stamp::make(other.actor() + 1, other.epoch(), Stamp::kManyLanes, 0, 0);
    if (known.covers(issued)) return true;
  }
  const bool only_fence = !by.is_blocking && by.view.knowledge.base.covers(other);
  return report_tensor(by, lane, cell, other, other_wrote, only_fence);
}

bool RaceDetector::report_tensor(const TensorView& by, u32 lane, u32 cell, Stamp other,
                                 bool other_wrote, bool only_fence) {
  const std::string& text = cluster_.program->source(by.view.inst).spelling->text;
  const std::string place = tensor_text(cell / kTensorColumns * 16, cell % kTensorColumns);
  const bool is_value = other_wrote && !by.view.is_write;
  const diag::Kind kind = only_fence ? diag::Kind::EmuTensorOrder
                          : is_value ? diag::Kind::EmuMissingWait
                                     : diag::Kind::EmuReusedEarly;
  if (cluster_.launch->options.is_ignored(kind)) return true;
  diag::Diagnostic diagnostic =
      only_fence ? diag::Diagnostic(
                       kind, {text, place,
                              "no pair of tcgen05.fence::before_thread_sync and "
                              "after_thread_sync stands between it and another operation there"})
                 : diag::Diagnostic(kind, {"'" + text + "'", place + " of tensor memory"});
  label(diagnostic, {other, cluster_.index}, other_wrote);
  advise(diagnostic, by.view, lane, {other, cluster_.index}, other_wrote);
  by.view.warp.active = 1U << (lane < kLanes ? lane : 0);
  by.view.warp.fail(by.view.inst, std::move(diagnostic));
  return false;
}

bool RaceDetector::tensor_cells(const TensorView& by, u32 lane, const TensorRegion& region) {
  Shadow& shadow = ctas_[region.cta->rank];
  shadow.tensor_writes.resize(std::size_t{kHalves} * kTensorColumns);
  shadow.tensor_reads.resize(shadow.tensor_writes.size());
  Cursor cursor;
  for (u32 half = 0; half < kHalves; ++half) {
    if (((region.halves >> half) & 1U) == 0) continue;
    for (u32 column = region.first; column < region.first + region.columns; ++column) {
      const u32 cell = cell_of(half, column);
      const Stamp write = shadow.tensor_writes[cell];
      if (!write.empty() && write.bits != cursor.safe_write.bits) {
        if (!judge_tensor(by, lane, cell, write, true)) return false;
        cursor.safe_write = write;
      }
      const Stamp reads = shadow.tensor_reads[cell];
      if (!by.view.is_write) {
        if (reads.bits != cursor.last_read.bits || cursor.grown.empty()) {
          cursor.last_read = reads;
          cursor.grown = add_reader(by.view, sets_, lane, {reads, cluster_.index}, by.mine);
        }
        shadow.tensor_reads[cell] = cursor.grown;
        continue;
      }
      if (!reads.empty() && reads.bits != cursor.last_read.bits) {
        const std::vector<Reader> readers = ReaderSets::is_set(reads)
                                                ? sets_.at(reads)
                                                : std::vector<Reader>{{reads, cluster_.index}};
        for (const Reader& one : readers) {
          if (!judge_tensor(by, lane, cell, one.stamp, false)) return false;
        }
        cursor.last_read = reads;
      }
      shadow.tensor_reads[cell] = {};
      shadow.tensor_writes[cell] = by.mine;
    }
  }
  return true;
}

bool RaceDetector::tensor(Warp& warp, const Inst& inst, const TensorRegion& region, bool is_write) {
  View by = view(warp, inst, kAllLanes);
  by.is_write = is_write;
  const u32 which = is_write ? 0 : 1;
  u32& actor = by.state.tensor_moves[which];
  if (actor == 0) {
    actor = make_actor(is_write ? Channel::TensorStores : Channel::TensorLoads, by.actor);
  }
  const Stamp mine = Stamp::make(actor, by.state.move_epoch[which], Stamp::kManyLanes, 15, by.pc);
  return tensor_cells({by, mine}, Stamp::kManyLanes, region);
}

bool RaceDetector::free_tensor(Warp& warp, const Inst& inst, u32 first, u32 columns) {
  View by = view(warp, inst, kAllLanes);
  by.is_write = true;
  const TensorRegion region{warp.cta, (1U << kHalves) - 1, first, columns};
  return tensor_cells({by, {}, false, true}, Stamp::kManyLanes, region);
}

void RaceDetector::wait_tensor(Warp& warp, bool is_load) {
  WarpState& state = warps_[number(warp)];
  const u32 which = is_load ? 1 : 0;
  const u32 actor = state.tensor_moves[which];
  if (actor == 0) return;
  settle_loads(state);
  const Seen seen{state.move_epoch[which]++, 0, 0};
  state.tensor.at(actor).merge(seen);
  state.all.base.at(actor).merge(seen);
  if (state.some_mask != 0) state.some.base.at(actor).merge(seen);
}

void RaceDetector::fence_tensor(Warp& warp, u32 mask, bool is_after) {
  WarpState& state = warps_[number(warp)];
  const bool knows_more = (mask & state.some_mask) != 0;
  if (is_after) {
    state.tensor.join(knows_more ? state.some.tensor : state.all.tensor);
    return;
  }
  const auto fence = [&](Knowledge& knowledge) {
    knowledge.tensor.join(state.tensor);
    for (u32 rest = mask; rest != 0; rest &= rest - 1) {
      const u32 lane = Warp::first_lane(rest);
      if (state.tensor_actor[lane] == 0) continue;
      knowledge.tensor.at(state.tensor_actor[lane] + 1).merge({state.tensor_issued[lane], 0, 0});
    }
  };
  fence(state.all);
  if (state.some_mask != 0) fence(state.some);
}

bool RaceDetector::issue(const TensorOp& op) {
  View by = view(*op.warp, *op.inst, 1U << op.lane);
  u32& actor = by.state.tensor_actor[op.lane];
  if (actor == 0) {
    actor = make_actor(Channel::Tensor, by.actor);
    make_actor(Channel::TensorIssued, by.actor);
  }
  const Stamp mine =
      Stamp::make(actor, ++by.state.tensor_issued[op.lane], Stamp::kManyLanes, 15, by.pc);
  for (const TensorUse& use : tensor_uses(op)) {
    by.is_write = use.is_write;
    if (!tensor_cells({by, mine, true}, op.lane, use.region)) return false;
  }
  by.is_write = false;
  by.is_async = true;
  by.what = op.kind == TensorOp::Kind::Copy ? "tcgen05.cp" : "tcgen05.mma";
  Cursor cursor;
  const Cta* noted = nullptr;
  return each_shared_chunk(op, [&](Cta& cta, u32 offset) {
    if (&cta != op.warp->cta && &cta != noted) {
      note_peer(actor, *op.warp, cta, {mine.epoch(), offset, op.inst});
      noted = &cta;
    }
    return walk(by, op.lane, shared_cells(cta), offset, 16, mine, cursor);
  });
}

std::shared_ptr<Knowledge> RaceDetector::committed(const TensorOp& op) {
  WarpState& state = warps_[number(*op.warp)];
  const bool knows_more = ((state.some_mask >> op.lane) & 1U) != 0;
  // What the thread knew was before its operations, and so before their completion.
  auto known = std::make_shared<Knowledge>(knows_more ? state.some : state.all);
  known->tensor.join(state.tensor);
  if (const u32 actor = state.tensor_actor[op.lane]; actor != 0) {
    const Seen seen{state.tensor_issued[op.lane], 0, 0};
    known->merge(actor, seen);
    known->tensor.at(actor).merge(seen);
    known->tensor.at(actor + 1).merge(seen);
  }
  return known;
}

void RaceDetector::arrive(const Knowledge& known, const Cta& cta, u32 barrier) {
  phase_of(cta, barrier).arrived.join(known);
}

void RaceDetector::arrive_relaxed(Warp& warp, u32 mask, const Cta& cta, u32 barrier) {
  WarpState& state = warps_[number(warp)];
  const Knowledge& known = (mask & state.some_mask) != 0 ? state.some : state.all;
  Knowledge& arrived = phase_of(cta, barrier).arrived;
  for (const Knowledge& fenced : state.fenced) arrived.join(fenced);
  arrived.tensor.join(known.tensor);
  mark_self(arrived.tensor, warp, mask);
  ++state.epoch;
}

void RaceDetector::waited_relaxed(Warp& warp, u32 mask, const Cta& cta, const Mbarrier& barrier) {
  PhaseKnowledge& phase = phase_of(cta, barrier.address);
  if (phase.phase != barrier.phase) follow(cta, barrier);
  warps_[number(warp)].glimpsed[0].join(phase.finished);
  Knowledge order;
  order.tensor = phase.finished.tensor;
  acquire(warp, mask, order);
}

}  // namespace pyptx::emu
