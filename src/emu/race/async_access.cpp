// SPDX-License-Identifier: Apache-2.0
//
// Accesses of asynchronous operations. An operation is judged by what the thread that issues it
// knows; what it reads and writes stays its own until somebody has waited for it.
#include <algorithm>

#include "async/bulk_queue.h"
#include "async/wgmma_form.h"
#include "machine/cluster.h"
#include "race/detector.h"

namespace pyptx::emu {
namespace {

/// So many are worth looking for a run.
constexpr u32 kManyWords = 32;

bool is_load(const BulkOp& op) { return !op.has_group; }

}  // namespace

/// Judges and stamps whole words; `mine` is what they become.
bool RaceDetector::walk(const View& view, u32 lane, const Cells& cells, u32 offset, u64 bytes,
                        Stamp mine, Cursor& cursor) {
  const u32 end = (offset + static_cast<u32>(bytes) + 3) / 4;
  u32 write_end = 0;  // behind the writes that are alike
  for (u32 cell = offset / 4; cell < end;) {
    const StampedWord place{cells, cell};
    const Stamp write = cells.writes[cell];
    const Stamp reads = cells.reads[cell];
    if (write.bits != cursor.safe_write.bits || !cells.is_own) {
      if (!judge_write(view, lane, place, nullptr)) return false;
      cursor.safe_write = write;
    }
    if (view.is_write) {
      if ((reads.bits != cursor.last_read.bits || !cells.is_own) &&
          !judge_reads(view, lane, place)) {
        return false;
      }
      cursor.last_read = reads;
    } else if (reads.bits != cursor.last_read.bits || cursor.grown.empty() || !cells.is_own) {
      const u64 cluster = cells.page != nullptr ? cells.page->reader(cell) : cluster_.index;
      cursor.last_read = reads;
      cursor.grown = add_reader(view, cells.sets, lane, {reads, cluster}, mine);
    }
    u32 next = cell + 1;
    if (cells.is_own && end - cell >= kManyWords) {
      if (cell >= write_end) write_end = end_of_run(cells.writes, cell, end);
      next = end_of_run(cells.reads, cell, write_end);
    }
    if (view.is_write) {
      std::fill(cells.reads + cell, cells.reads + next, Stamp{});
      std::fill(cells.writes + cell, cells.writes + next, mine);
    } else {
      std::fill(cells.reads + cell, cells.reads + next, cursor.grown);
    }
    if (cells.page != nullptr) mark_all(view, cells, cell, next);
    cell = next;
  }
  return true;
}

bool RaceDetector::range(const View& view, u32 lane, const Cells& cells, u32 offset, u64 bytes,
                         Stamp mine) {
  Cursor cursor;
  if (view.is_write) {
    before_write(view, *cells.cta, offset, offset + static_cast<u32>(bytes), true);
  }
  return walk(view, lane, cells, offset, bytes, mine, cursor);
}

bool RaceDetector::issue(const BulkOp& op) {
  View by = view(*op.warp, *op.inst, 1U << op.lane);
  by.is_async = op.kind != BulkOp::Kind::Word;  // st.async and red.async are of the generic proxy
  by.what = op.kind == BulkOp::Kind::Response ? "response"
            : by.is_async                     ? "bulk copy"
                                              : "asynchronous store";
  const u32 offset = op.shared & kOffsetMask;
  if (!is_load(op)) {
    u32& actor = by.state.bulk[op.lane];
    if (actor == 0) {
      actor = make_actor(Channel::BulkGroups, by.actor);
      make_actor(Channel::BulkWrites, by.actor);
    }
    const u32 group = static_cast<u32>(op.group) + 1;
    if (op.map_address != 0) {
      read_map(by, op, Stamp::make(actor, group, Stamp::kManyLanes, 15, by.pc));
    }
    by.state.bulk_last[op.lane] = group;
    by.state.bulk_inst[op.lane] = op.inst;
    if (!range(by, op.lane, shared_cells(*cluster_.ctas[op.shared >> kRankShift]), offset,
               op.shared_bytes(), Stamp::make(actor, group, Stamp::kManyLanes, 15, by.pc))) {
      return false;
    }
    by.is_write = true;
    by.is_strong = by.is_atomic = op.reduce != ReduceOp::None;  // .relaxed.gpu
    by.scope = Scope::Gpu;
    const u32 lane =
        by.is_atomic ? Stamp::kAtomic + static_cast<u32>(Scope::Gpu) : Stamp::kManyLanes;
    return global_part(by, op, Stamp::make(actor + 1, group, lane, 15, by.pc));
  }
  for (u32 rank = 0; rank < cluster_.ctas.size(); ++rank) {
    const bool is_target =
        op.cta_mask == 0 ? rank == op.shared >> kRankShift : ((op.cta_mask >> rank) & 1U) != 0;
    if (!is_target) continue;
    Cta& cta = *cluster_.ctas[rank];
    const Cta& signalled = *cluster_.ctas[signalled_rank(op, rank)];
    const u32 barrier = op.barrier & kOffsetMask;
    if (rank != op.issuer_rank && !is_started(by, op.lane, cta, offset)) return false;
    if (!use_barrier(*op.warp, *op.inst, op.lane, signalled, barrier)) return false;
    const PhaseKnowledge& phase = phase_of(signalled, barrier);
    const Stamp mine = Stamp::make(phase.actor, Stamp::kPending, Stamp::kManyLanes, 15, by.pc);
    by.is_write = true;
    if (!range(by, op.lane, shared_cells(cta), offset, op.shared_bytes(), mine)) return false;
    by.is_write = false;
    if (op.kind != BulkOp::Kind::SharedToShared) {
      // Whoever waits for the phase knows that it was read.
      const u32 epoch = phase.first + static_cast<u32>(phase.phase) + 1;
      const Stamp read = Stamp::make(phase.actor, epoch, Stamp::kManyLanes, 15, by.pc);
      if (!global_part(by, op, read)) return false;
      if (op.map_address != 0) read_map(by, op, read);
      continue;
    }
    const Cta& from = *cluster_.ctas[op.shared_from >> kRankShift];
    if (!range(by, op.lane, shared_cells(from), op.shared_from & kOffsetMask, op.shared_bytes(),
               mine)) {
      return false;
    }
  }
  return true;
}

void RaceDetector::landed(const BulkOp& op, const Cta& cta, const Cta& signalled, u32 barrier) {
  PhaseKnowledge& known = phase_of(signalled, barrier);
  const u32 epoch = known.first + static_cast<u32>(known.phase) + 1;
  known.landed = epoch;
  known.copy = op.inst;
  if (cta.rank != op.issuer_rank || cta.rank != signalled.rank) {
    note_peer(known.actor, *op.warp, cta, {epoch, op.shared & kOffsetMask, op.inst});
  }
  const u32 pc = static_cast<u32>(op.inst - cluster_.program->code.data());
  const Stamp before = Stamp::make(known.actor, Stamp::kPending, Stamp::kManyLanes, 15, pc);
  const Stamp after = Stamp::make(known.actor, epoch, Stamp::kManyLanes, 15, pc);
  ctas_[cta.rank].written.forget(op.shared & kOffsetMask, op.shared_bytes());
  const auto replace = [&](std::vector<Stamp>& stamps, u32 offset) {
    for (u32 cell = offset / 4; cell * 4 < offset + op.shared_bytes(); ++cell) {
      if (stamps[cell].bits == before.bits) stamps[cell] = after;
    }
  };
  replace(ctas_[cta.rank].writes, op.shared & kOffsetMask);
  if (op.kind == BulkOp::Kind::SharedToShared) {
    replace(ctas_[op.shared_from >> kRankShift].reads, op.shared_from & kOffsetMask);
  }
}

bool RaceDetector::copy(Warp& warp, const Inst& inst, u32 lane, u32 offset, u32 bytes) {
  View by = view(warp, inst, 1U << lane);
  by.is_write = true;
  by.is_pending = true;
  by.what = "async copy";
  if (by.state.copies == 0) by.state.copies = make_actor(Channel::Copies, by.actor);
  return range(by, lane, shared_cells(*warp.cta), offset, bytes,
               Stamp::make(by.state.copies, by.state.era, lane, 15, by.pc));
}

RaceDetector::MatrixTile& RaceDetector::tile_of(const Warp& warp) {
  const std::size_t group = warp.cta->rank * warp.cta->wgmma.size() + warp.id / 4;
  while (matrices_.size() <= group) {
    matrices_.emplace_back().actor = make_actor(Channel::Matrix, number(warp) / 4 * 4);
  }
  return matrices_[group];
}

bool RaceDetector::matrix(Warp& warp, const Inst& inst, u64 a_descriptor, u64 b_descriptor,
                          u32 epoch) {
  MatrixTile& shared = tile_of(warp);
  View by = view(warp, inst, kAllLanes);
  by.is_async = true;
  by.what = "wgmma";
  const Stamp mine = Stamp::make(shared.actor, epoch, Stamp::kManyLanes, 15, by.pc);
  const WgmmaForm form = WgmmaForm::unpack(inst.imm);
  // Each warp multiplies its own sixteen rows of A with all of B.
  const TileShape a{a_descriptor, warp.id % 4 * 16, 16, form.trans_a};
  const TileShape b{b_descriptor, 0, form.columns, form.trans_b};
  MatrixTile own;
  if (!form.a_in_registers && !read_tile(by, *warp.cta, a, mine, own)) return false;
  if (shared.epoch == epoch) {
    const auto is_known = [&](Stamp write) { return knows(by, write); };
    return (shared.is_found && std::ranges::all_of(shared.found, is_known)) ||
           judge_tile(by, shared_cells(*warp.cta), b);
  }
  if (!read_tile(by, *warp.cta, b, mine, shared)) return false;
  shared.epoch = epoch;
  return true;
}

}  // namespace pyptx::emu
