// SPDX-License-Identifier: Apache-2.0
//
// Accesses to global memory: the same judgement as in shared memory, page by page. Memory that
// nobody may write is not stamped, and what nobody wrote is a value there: the host's.
#include <algorithm>
#include <cstring>
#include <functional>

#include "async/bulk_queue.h"
#include "machine/cluster.h"
#include "race/advice.h"
#include "race/detector.h"
#include "race/launch_trace.h"

namespace pyptx::emu {
namespace {

u32 cell_of(u64 address) { return static_cast<u32>(address % GlobalPage::kBytes) / 4; }

}  // namespace

RaceDetector::Cells RaceDetector::global_cells(u64 address) {
  GlobalPage& page = global_.page(address);
  page.enter(cluster_.index);
  const bool is_own = !page.clusters && page.first == cluster_.index;
  GlobalPage::Words& words = page.in_words();
  return {words.writes.data(),
          words.reads.data(),
          global_.sets,
          address & ~u64{GlobalPage::kBytes - 1},
          nullptr,
          &page,
          is_own};
}

bool RaceDetector::wants(std::size_t buffer) const {
  return cluster_.memory->may_change(buffer) || cluster_.launch->options.stream != nullptr;
}

bool RaceDetector::is_apart(const View& view, u32 lane, u64 address, u64 bytes) {
  if (before_ == nullptr || view.knowledge.is_behind_wait) return true;
  if (cluster_.launch->options.is_ignored(diag::Kind::EmuDependentGrid)) return true;
  std::string by;
  const std::string_view verb = before_->conflict(address, bytes, view.is_write, by);
  if (verb.empty()) return true;
  diag::Diagnostic diagnostic(
      diag::Kind::EmuDependentGrid,
      {std::string(view.what), cluster_.memory->name(address), std::string(verb)});
  if (!by.empty()) diagnostic->notes.push_back("it " + std::string(verb) + " it in " + by);
  help(diagnostic, "before the access", "griddepcontrol.wait");
  view.warp.active = 1U << (lane < kLanes ? lane : 0);
  view.warp.fail(view.inst, std::move(diagnostic));
  return false;
}

bool RaceDetector::global_words(const View& view, u32 lane, u64 address, u64 bytes,
                                const std::byte* value) {
  for (u64 at = address; at < address + bytes;) {
    const u64 left = std::min(address + bytes - at, GlobalPage::kBytes - at % GlobalPage::kBytes);
    const Cells cells = global_cells(at);
    const u32 offset = static_cast<u32>(at % GlobalPage::kBytes);
    if (!words(view, cells, lane, offset, left,
               value == nullptr ? nullptr : value + (at - address)))
      return false;
    at += left;
  }
  return true;
}

/// A row where the page is one of runs and stays it. False: nothing is done.
bool RaceDetector::whole_run(const View& view, u64 address, u32 count, u32 per_lane, u32 lane,
                             const std::byte* values) {
  GlobalPage& page = global_.page(address);
  page.enter(cluster_.index);
  if (page.words || page.clusters) return false;
  const u32 cell = cell_of(address);
  GlobalPage::Run* run = page.run(cell, count);
  if (run == nullptr) return false;
  const auto is_fine = [&](Stamp stamp, u32 words) {
    const bool is_own = stamp.actor() == view.actor && stamp.lane() == lane && words == per_lane;
    return stamp.empty() || is_own || view.knowledge.base.covers_all(stamp);
  };
  if (!is_fine(run->write, run->write_words) || !is_fine(run->read, run->read_words)) return false;
  const Stamp mine = Stamp::make(view.actor, view.state.epoch, lane, 15, view.pc);
  (view.is_write ? run->write : run->read) = mine;
  (view.is_write ? run->write_words : run->read_words) = static_cast<u8>(per_lane);
  if (view.is_write) run->read = {};
  run->touched |= view.is_write ? 0x0F : 0xF0;
  if (values != nullptr) std::memcpy(&page.values[cell], values, u64{count} * 4);
  return true;
}

bool RaceDetector::lanes(const LaneAccess& access, u64 base, const u64* offsets) {
  View by = view(access.warp, access.inst, access.mask);
  by.is_write = access.is_write;
  by.what = access.is_write ? "store" : "load";
  const u32 count = access.bytes / 4;
  if (before_ != nullptr) {
    for (u32 rest = access.mask; rest != 0; rest &= rest - 1) {
      const u32 lane = Warp::first_lane(rest);
      const u64 at = access.is_row ? base + u64{lane} * access.bytes : base + offsets[lane];
      if (!is_apart(by, lane, at, access.bytes)) return false;
    }
  }
  if (access.is_row && count != 0) {
    const u64 end = base + u64{access.bytes} * kLanes;
    for (u64 at = base; at < end;) {
      // Lanes do not straddle pages: they are aligned to their size.
      const u64 left = std::min(end - at, GlobalPage::kBytes - at % GlobalPage::kBytes);
      const u32 lane = static_cast<u32>((at - base) / access.bytes);
      const std::byte* values = access.values == nullptr ? nullptr : access.values + (at - base);
      if (whole_run(by, at, static_cast<u32>(left / 4), count, lane, values)) {
        at += left;
        continue;
      }
      const Cells cells = global_cells(at);
      if (!row(by, cells, cell_of(at), static_cast<u32>(left / 4), count, lane, values)) {
        return false;
      }
      at += left;
    }
    return true;
  }
  Memory last;
  for (u32 rest = access.mask; rest != 0; rest &= rest - 1) {
    const u32 lane = Warp::first_lane(rest);
    const u64 at = access.is_row ? base + u64{lane} * access.bytes : base + offsets[lane];
    const std::byte* value =
        access.values == nullptr ? nullptr : access.values + u64{lane} * access.bytes;
    const Cells cells = global_cells(at);
    if (count == 0) {
      const u32 part = ((1U << access.bytes) - 1) << (at & 3U);
      if (!word(by, {cells, cell_of(at), part}, lane, nullptr)) return false;
    } else if (!quick_words(by, cells, cell_of(at), count, lane, value, last)) {
      return false;
    }
  }
  return true;
}

bool RaceDetector::one(Warp& warp, const Inst& inst, const AccessRequest& request) {
  if (request.order == AccessOrder::Strong) {
    const View by = view(warp, inst, 1U << request.lane);
    // Most atomics hand on nothing: their address needs no place in the table.
    const bool tells =
        request.is_write && (releases(request.semantics) || !by.knowledge.fences.empty() ||
                             std::ranges::any_of(by.state.fenced, std::not_fn(&Knowledge::empty)));
    SyncVariable* variable =
        tells ? &global_.variable(request.address) : global_.find_variable(request.address);
    if (variable != nullptr) strong(by, request, *variable);
  }
  View access = view(warp, inst, 1U << request.lane);
  access.is_write = request.is_write;
  access.what = request.what;
  access.is_strong = request.order == AccessOrder::Strong;
  access.is_atomic = request.is_atomic;
  access.scope = request.scope;
  const bool is_collective = request.order == AccessOrder::Collective;
  if (!is_apart(access, request.lane, request.address, request.bytes)) return false;
  return global_words(access, is_collective ? Stamp::kManyLanes : request.lane, request.address,
                      request.bytes, request.value);
}

bool RaceDetector::copy_from(Warp& warp, const Inst& inst, u32 lane, u64 address, u32 bytes) {
  View by = view(warp, inst, 1U << lane);
  by.what = "async copy";
  return global_range(by, lane, address, bytes,
                      Stamp::make(by.state.copies, by.state.era, lane, 15, by.pc));
}

/// Judges and stamps whole words of memory that somebody may write.
bool RaceDetector::global_range(const View& view, u32 lane, u64 address, u64 bytes, Stamp mine) {
  const std::ptrdiff_t found = cluster_.memory->find(address, bytes, cluster_.last_buffer);
  if (found < 0 || !wants(static_cast<std::size_t>(found))) return true;
  if (!is_apart(view, lane, address, bytes)) return false;
  Cursor cursor;
  for (u64 at = address; at < address + bytes;) {
    const u64 left = std::min(address + bytes - at, GlobalPage::kBytes - at % GlobalPage::kBytes);
    const Cells cells = global_cells(at);
    if (!walk(view, lane, cells, static_cast<u32>(at % GlobalPage::kBytes), left, mine, cursor)) {
      return false;
    }
    at += left;
  }
  return true;
}

/// What a bulk copy reads or writes there.
bool RaceDetector::global_part(const View& view, const BulkOp& op, Stamp mine) {
  if (op.kind == BulkOp::Kind::ToShared || op.kind == BulkOp::Kind::ToGlobal) {
    return global_range(view, op.lane, op.global, op.bytes, mine);
  }
  if (op.kind != BulkOp::Kind::TensorLoad && op.kind != BulkOp::Kind::TensorStore) return true;
  const std::ptrdiff_t found = cluster_.memory->find(op.global, 1, cluster_.last_buffer);
  if (found < 0 || !wants(static_cast<std::size_t>(found))) return true;
  return std::ranges::all_of(global_spans(op), [&](const auto& span) {
    return global_range(view, op.lane, span.first, span.second, mine);
  });
}

}  // namespace pyptx::emu
