// SPDX-License-Identifier: Apache-2.0
//
// Accesses of threads against the stamps in the shadow: loads, stores, atomics, matrices, and the
// life of mbarriers.
#include <algorithm>
#include <bit>

#include "cluster.h"
#include "race/detector.h"

namespace pyptx::emu {

RaceDetector::View RaceDetector::view(Warp& warp, const Inst& inst, u32 mask) {
  const u32 self = number(warp);
  WarpState& state = warps_[self];
  const bool knows_more = state.some_mask != 0 && (mask & ~state.some_mask) == 0;
  View view{warp, inst, state, knows_more ? state.some : state.all};
  view.actor = self;
  view.pc = static_cast<u32>(&inst - warp.program->code.data());
  view.is_common = !knows_more;
  return view;
}

bool RaceDetector::is_ordered(const View& view, Stamp stamp, u32 lane) const {
  if (stamp.actor() != view.actor) return view.knowledge.base.covers(stamp);
  // A strong access does not say which lane's it was: somebody of this warp knows.
  return stamp.lane() == lane || stamp.lane() == Stamp::kStrong ||
         view.knowledge.base.covers(stamp);
}

bool RaceDetector::judge(const View& view, u32 lane, const Place& place, Stamp other,
                         bool other_wrote) {
  const bool is_before = is_ordered(view, other, lane);
  if (!view.is_async || is_async(other.actor())) {
    if (is_before) return true;
    if (view.is_strong && other.lane() == Stamp::kStrong) return true;
    return report(view, lane, place, other, other_wrote, false);
  }
  if (view.knowledge.proxy.covers(other)) return true;
  return report(view, lane, place, other, other_wrote, is_before);
}

bool RaceDetector::judge_write(const View& view, u32 lane, const Place& place, Stamp write) {
  if (write.empty()) return true;
  if (write.actor() == view.actor && write.pc() == view.pc && !view.is_async) {
    return true;  // lanes of one store to one address: somebody wins
  }
  if (!judge(view, lane, place, write, true)) return false;
  const Clock& clock =
      view.is_async && !is_async(write.actor()) ? view.knowledge.proxy : view.knowledge.base;
  if (view.is_common && !view.is_async && clock.covers_all(write)) {
    view.state.safe_write = write.key();
  }
  return true;
}

bool RaceDetector::judge_reads(const View& view, u32 lane, const Place& place, Stamp reads) {
  if (reads.empty()) return true;
  if (reads.actor() != Stamp::kReaderSet) {
    if (!judge(view, lane, place, reads, false)) return false;
    if (view.is_common && !view.is_async && view.knowledge.base.covers_all(reads)) {
      view.state.safe_read = reads.key();
    }
    return true;
  }
  for (const Stamp one : sets_[reads.epoch()]) {
    if (!judge(view, lane, place, one, false)) return false;
  }
  return true;
}

Stamp RaceDetector::add_reader(const View& view, u32 lane, Stamp old, Stamp mine) {
  if (old.key() == mine.key()) {
    const u32 seen_by = old.lane() == mine.lane() ? mine.lane() : Stamp::kManyLanes;
    return Stamp::make(mine.actor(), mine.epoch(), seen_by, old.bytes() | mine.bytes(), mine.pc());
  }
  if (old.empty()) return mine;
  const bool is_set = old.actor() == Stamp::kReaderSet;
  if (!is_set && is_ordered(view, old, lane)) return mine;
  if (is_set &&
      std::ranges::find(sets_[old.epoch()], mine.key(), &Stamp::key) != sets_[old.epoch()].end()) {
    return old;
  }
  const u64 key = old.key() * 0x9E3779B97F4A7C15ULL ^ mine.key();
  const auto known = grown_.find(key);
  if (known != grown_.end()) return known->second;
  std::vector<Stamp> set = is_set ? sets_[old.epoch()] : std::vector<Stamp>{old};
  std::erase_if(set, [&](Stamp one) {
    return one.actor() == mine.actor() || view.knowledge.base.covers_all(one);
  });
  set.push_back(
      Stamp::make(mine.actor(), mine.epoch(), Stamp::kManyLanes, mine.bytes(), mine.pc()));
  if (sets_.size() == Stamp::kPending) return mine;
  const Stamp grown =
      Stamp::make(Stamp::kReaderSet, static_cast<u32>(sets_.size()), 0, 15, mine.pc());
  sets_.push_back(std::move(set));
  grown_.emplace(key, grown);
  return grown;
}

bool RaceDetector::word(const View& view, const Cta& cta, u32 cell, u32 lane, u32 bytes) {
  Shadow& shadow = ctas_[cta.rank];
  const Stamp write = shadow.writes[cell];
  const Place place{cta, cell * 4};
  const bool overlaps = (write.bytes() & bytes) != 0;
  if (overlaps && write.key() != view.state.safe_write && !judge_write(view, lane, place, write)) {
    return false;
  }
  const u32 by = view.is_strong ? Stamp::kStrong : lane;
  Stamp mine = Stamp::make(view.actor, view.state.epoch, by, bytes, view.pc);
  Stamp& reads = shadow.reads[cell];
  if (!view.is_write) {
    reads = reads.key() == view.state.safe_read ? mine : add_reader(view, lane, reads, mine);
    return true;
  }
  if ((reads.bytes() & bytes) != 0 && reads.key() != view.state.safe_read &&
      !judge_reads(view, lane, place, reads)) {
    return false;
  }
  if (bytes == 15) {
    reads = {};
  } else if (write.key() == mine.key()) {  // lanes that share a word
    const u32 who = write.lane() == by ? by : Stamp::kManyLanes;
    mine = Stamp::make(view.actor, view.state.epoch, who, bytes | write.bytes(), view.pc);
  }
  shadow.writes[cell] = mine;
  return true;
}

/// What `word` does with a whole word where its stamps are the usual ones: none, this lane's own,
/// or one that the lane knows of. False: ask it.
inline bool RaceDetector::usual_word(const View& view, Shadow& shadow, u32 cell, u32 lane) {
  const Stamp mine = Stamp::make(view.actor, view.state.epoch, lane, 15, view.pc);
  const auto is_known = [&](Stamp other) {
    return (other.actor() == view.actor && other.lane() == lane) ||
           view.knowledge.base.covers_all(other);
  };
  const Stamp write = shadow.writes[cell];
  const Stamp reads = shadow.reads[cell];
  if (write.empty() ? !view.is_write : !is_known(write)) return false;
  if (!reads.empty() && !is_known(reads)) return false;
  if (view.is_write) {
    shadow.writes[cell] = mine;
    shadow.reads[cell] = {};
  } else {
    shadow.reads[cell] = mine;
  }
  return true;
}

bool RaceDetector::words(const View& view, Cta& cta, u32 lane, u32 offset, u64 bytes) {
  const u32 end = offset + static_cast<u32>(bytes);
  for (u32 cell = offset / 4; cell * 4 < end; ++cell) {
    const u32 from = std::max(offset, cell * 4) - cell * 4;
    const u32 to = std::min(end, cell * 4 + 4) - cell * 4;
    if (!word(view, cta, cell, lane, (15U << from) & (15U >> (4 - to)))) return false;
  }
  return true;
}

bool RaceDetector::lanes(Warp& warp, const Inst& inst, u32 mask, const u32 (&offsets)[kLanes],
                         u32 bytes, bool is_write) {
  View access = view(warp, inst, mask);
  access.is_write = is_write;
  access.what = is_write ? "store" : "load";
  const Cta& cta = *warp.cta;
  for (u32 rest = mask; rest != 0; rest &= rest - 1) {
    const u32 lane = Warp::first_lane(rest);
    if (bytes < 4) {
      const u32 part = ((1U << bytes) - 1) << (offsets[lane] & 3U);
      if (!word(access, cta, offsets[lane] / 4, lane, part)) return false;
      continue;
    }
    for (u32 i = 0; i < bytes / 4; ++i) {
      const u32 cell = offsets[lane] / 4 + i;
      if (!usual_word(access, ctas_[cta.rank], cell, lane) && !word(access, cta, cell, lane, 15)) {
        return false;
      }
    }
  }
  return true;
}

bool RaceDetector::one(Warp& warp, const Inst& inst, const AccessRequest& request, Cta& cta,
                       u32 offset) {
  View access = view(warp, inst, 1U << request.lane);
  access.is_write = request.is_write;
  access.is_strong = request.order == AccessOrder::Strong;
  access.what = request.what;
  const bool is_collective = request.order == AccessOrder::Collective;
  if (access.is_strong) {
    // Strong accesses to one address synchronise: whoever comes later knows what came before.
    Knowledge& point = ctas_[cta.rank].strong[offset];
    acquire(warp, 1U << request.lane, point);
    release(warp, 1U << request.lane, point);
  }
  return words(access, cta, is_collective ? Stamp::kManyLanes : request.lane, offset,
               request.bytes);
}

void RaceDetector::initialised(Warp& warp, const Inst& inst, u32 lane, const Cta& cta,
                               u32 barrier) {
  const View by = view(warp, inst, 1U << lane);
  const Stamp stamp = Stamp::make(by.actor, by.state.epoch, lane, 15, by.pc);
  Shadow& shadow = ctas_[cta.rank];
  shadow.writes[barrier / 4] = shadow.writes[barrier / 4 + 1] = stamp;
  PhaseKnowledge& phase = phase_of(cta, barrier);
  phase.first += static_cast<u32>(phase.phase) + 1;
  phase.phase = 0;
  phase.arrived.clear();
  phase.finished.clear();
}

bool RaceDetector::use_barrier(Warp& warp, const Inst& inst, u32 lane, const Cta& cta,
                               u32 barrier) {
  const Stamp write = ctas_[cta.rank].writes[barrier / 4];
  View by = view(warp, inst, 1U << lane);
  if (write.empty() || write.key() == by.state.safe_write) return true;
  by.what = "use of an mbarrier";
  return judge_write(by, lane, {cta, barrier}, write);
}

}  // namespace pyptx::emu
