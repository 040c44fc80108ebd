// SPDX-License-Identifier: Apache-2.0
//
// Accesses of threads against the stamps in the shadow: loads, stores, atomics, matrices, and the
// life of mbarriers. What most accesses find (nothing, or what all lanes know) is seen at once, for
// a row of words with one comparison each.
#include <algorithm>
#include <bit>
#include <cstring>

#include "machine/cluster.h"
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

RaceDetector::Cells RaceDetector::shared_cells(const Cta& cta) {
  Shadow& shadow = ctas_[cta.rank];
  return {shadow.writes.data(), shadow.reads.data(), sets_, 0, &cta, nullptr, true};
}

/// Whether whoever asks knows of the access, whatever lane it was.
bool RaceDetector::is_safe(const View& view, ReaderSets& sets, Stamp stamp) const {
  if (stamp.empty()) return true;
  if (!ReaderSets::is_set(stamp)) return view.knowledge.base.covers_all(stamp);
  return std::ranges::all_of(sets.at(stamp), [&](const Reader& one) {
    return one.cluster == cluster_.index && view.knowledge.base.covers_all(one.stamp);
  });
}

bool RaceDetector::is_known(const View& view, const Reader& other) const {
  if (other.cluster == cluster_.index) return view.knowledge.base.covers(other.stamp);
  const Clocks* known = view.knowledge.foreign.of(other.cluster);
  return known != nullptr && known->base.covers(other.stamp);
}

bool RaceDetector::is_ordered(const View& view, const Reader& other, u32 lane) const {
  const bool is_own = other.cluster == cluster_.index;
  const u32 actor = other.stamp.actor();
  if (is_own && (actor == view.actor ||
                 (channels_[actor] == Channel::Inits && owners_[actor] == view.actor))) {
    // Neither a strong access nor one of kParts says which lane's it was.
    const bool is_unknown = other.stamp.is_strong() || other.stamp.lane() == Stamp::kParts;
    if (other.stamp.lane() == lane || is_unknown) return true;
  }
  return is_known(view, other);
}

/// Whether both are strong and each is in the scope of the other (PTX ISA, "Morally strong").
bool RaceDetector::is_morally_strong(const View& view, const Reader& other) const {
  if (!view.is_strong || !other.stamp.is_strong()) return false;
  const Scope narrower = std::min(view.scope, other.stamp.scope());
  if (other.cluster != cluster_.index) return narrower == Scope::Gpu;
  const u32 warps = static_cast<u32>(view.warp.cta->warps.size());
  return narrower != Scope::Cta || owners_[other.stamp.actor()] / warps == view.warp.cta->rank;
}

bool RaceDetector::judge(const View& view, u32 lane, const StampedWord& place, const Reader& other,
                         bool other_wrote, const std::byte* value) {
  if (other.stamp.actor() == Stamp::kNobody) return report_gap(view, lane, place);
  const bool is_before = is_ordered(view, other, lane);
  const bool is_own = other.cluster == cluster_.index;
  const bool other_is_async =
      is_own ? is_async(other.stamp.actor()) : other.stamp.actor() >= warps_.size();
  if (view.is_async && !other_is_async) {
    if (!is_own) {
      const Clocks* known = view.knowledge.foreign.of(other.cluster);
      if (known != nullptr && known->proxy.covers(other.stamp)) return true;
    } else {
      const bool is_global = place.cells.page != nullptr;
      const Clock& clock = is_global ? view.knowledge.global_proxy : view.knowledge.proxy;
      if (clock.covers(other.stamp)) return true;
    }
    if (is_morally_strong(view, other)) return true;
    return report(view, lane, place, other, other_wrote, is_before);
  }
  if (is_before || is_morally_strong(view, other)) return true;
  const bool is_thread =
      is_own ? this->is_thread(other.stamp.actor()) : other.stamp.actor() < warps_.size();
  if (value != nullptr && other_wrote && is_thread && !other.stamp.is_strong()) {
    u32 now = 0;
    u32 next = 0;
    std::memcpy(&next, value, 4);
    if (place.cells.page != nullptr) {
      now = place.cells.page->values[place.cell];
    } else {
      std::memcpy(&now, place.cells.cta->shared.data() + place.address(), 4);
    }
    if (now == next) {
      return warn(diag::Kind::EmuSameValue, view, lane, place, other, other_wrote);
    }
  }
  const bool is_weak_read = (!view.is_write && !view.is_strong && other.stamp.is_atomic()) ||
                            (view.is_atomic && !other_wrote && !other.stamp.is_strong());
  if (is_weak_read && is_thread && !view.is_async) {
    return warn(diag::Kind::EmuWeakRead, view, lane, place, other, other_wrote);
  }
  return report(view, lane, place, other, other_wrote, false);
}

bool RaceDetector::judge_write(const View& view, u32 lane, const StampedWord& place,
                               const std::byte* value) {
  const Cells& cells = place.cells;
  const Stamp write = cells.writes[place.cell].of(place.bytes);
  if (write.empty()) return true;
  const u64 cluster = cells.page != nullptr ? cells.page->writer(place.cell) : cluster_.index;
  const bool is_own = cluster == cluster_.index;
  if (is_own && write.actor() == view.actor && write.pc() == view.pc && !view.is_async) {
    return true;  // lanes of one store to one address: somebody wins
  }
  if (!judge(view, lane, place, {write, cluster}, true, value)) return false;
  if (is_own && view.is_common && !view.is_async && view.knowledge.base.covers_all(write)) {
    view.state.safe_write = write.key();
  }
  return true;
}

bool RaceDetector::judge_reads(const View& view, u32 lane, const StampedWord& place) {
  const Cells& cells = place.cells;
  const Stamp reads = cells.reads[place.cell];
  if (reads.empty()) return true;
  if (!ReaderSets::is_set(reads)) {
    const u64 cluster = cells.page != nullptr ? cells.page->reader(place.cell) : cluster_.index;
    if (!judge(view, lane, place, {reads.of(place.bytes), cluster}, false, nullptr)) return false;
    if (cells.is_own && view.is_common && !view.is_async && view.knowledge.base.covers_all(reads)) {
      view.state.safe_read = reads.key();
    }
    return true;
  }
  for (std::size_t i = 0; i < cells.sets.at(reads).size(); ++i) {
    const Reader one = cells.sets.at(reads)[i];
    if (!judge(view, lane, place, one, false, nullptr)) return false;
  }
  if (cells.is_own && view.is_common && !view.is_async && is_safe(view, cells.sets, reads)) {
    view.state.safe_read = reads.key();
  }
  return true;
}

Stamp RaceDetector::add_reader(const View& view, ReaderSets& sets, u32 lane, const Reader& old,
                               Stamp mine) {
  const Stamp before = old.stamp;
  if (before.empty()) return mine;
  const bool is_set = ReaderSets::is_set(before);
  if (before.key() == mine.key() && old.cluster == cluster_.index) {
    return Stamp::make(mine.actor(), mine.epoch(), before.joined(mine.lane(), mine.bytes()),
                       before.bytes() | mine.bytes(), mine.pc());
  }
  if (!is_set && is_ordered(view, old, lane)) return mine;
  const u64 key = is_set ? before.key() : before.bits;
  if (const Stamp* known = sets.grown(key, mine.key(), cluster_.index)) return *known;
  std::vector<Reader> set = is_set ? sets.at(before) : std::vector<Reader>{old};
  const auto is_mine = [&](const Reader& one) {
    return one.stamp.key() == mine.key() && one.cluster == cluster_.index;
  };
  if (std::ranges::any_of(set, is_mine)) return before;
  std::erase_if(set, [&](const Reader& one) {
    const bool is_own = one.cluster == cluster_.index;
    return is_own &&
           (one.stamp.actor() == mine.actor() || view.knowledge.base.covers_all(one.stamp));
  });
  if (set.empty() || sets.is_full()) return mine;
  set.push_back(
      {Stamp::make(mine.actor(), mine.epoch(), mine.is_strong() ? mine.lane() : Stamp::kManyLanes,
                   mine.bytes(), mine.pc()),
       cluster_.index});
  const Stamp grown = sets.add(std::move(set), mine.pc());
  sets.remember(key, mine.key(), cluster_.index, grown);
  return grown;
}

/// What is remembered of a word of global memory besides its stamps.
void RaceDetector::mark(const View& view, const StampedWord& place, u32 bytes,
                        const std::byte* value) const {
  GlobalPage* page = place.cells.page;
  if (page == nullptr) return;
  u8& touched = page->words->touched[place.cell];
  if (view.is_write) {
    touched |= static_cast<u8>(bytes);
    if (page->clusters) page->clusters->wrote[place.cell] = static_cast<u32>(cluster_.index);
    if (value != nullptr) std::memcpy(&page->values[place.cell], value, 4);
  }
  if (!view.is_write || view.is_atomic) touched |= static_cast<u8>(bytes << 4);
  if (!view.is_write && page->clusters) {
    page->clusters->read[place.cell] = static_cast<u32>(cluster_.index);
  }
}

/// The same of whole words whose value nobody looks at.
void RaceDetector::mark_all(const View& view, const Cells& cells, u32 cell, u32 end) const {
  for (; cell < end; ++cell) mark(view, {cells, cell}, 15, nullptr);
}

bool RaceDetector::word(const View& view, const StampedWord& place, u32 lane,
                        const std::byte* value) {
  const Cells& cells = place.cells;
  const u32 bytes = place.bytes;
  const Stamp write = cells.writes[place.cell];
  const bool overlaps = (write.bytes() & bytes) != 0;
  const bool is_safe_write = cells.is_own && write.key() == view.state.safe_write;
  if (overlaps && !is_safe_write && !judge_write(view, lane, place, value)) return false;
  const u32 scope = static_cast<u32>(view.scope);
  const u32 by = view.is_atomic   ? Stamp::kAtomic + scope
                 : view.is_strong ? Stamp::kStrong + scope
                                  : lane;
  Stamp mine = Stamp::make(view.actor, view.state.epoch, by, bytes, view.pc);
  Stamp& reads = cells.reads[place.cell];
  const bool is_safe_read = cells.is_own && reads.key() == view.state.safe_read;
  if (!view.is_write) {
    const u64 cluster = cells.page != nullptr ? cells.page->reader(place.cell) : cluster_.index;
    reads = is_safe_read ? mine : add_reader(view, cells.sets, lane, {reads, cluster}, mine);
    mark(view, place, bytes, nullptr);
    return true;
  }
  if ((reads.bytes() & bytes) != 0 && !is_safe_read && !judge_reads(view, lane, place)) {
    return false;
  }
  if (bytes == 15) {
    reads = {};
  } else if (write.key() == mine.key() && (write.bytes() & ~bytes) != 0) {
    // Lanes that share a word, or one that has written another part of it.
    mine = Stamp::make(view.actor, view.state.epoch, write.joined(by, bytes), bytes | write.bytes(),
                       view.pc);
  }
  cells.writes[place.cell] = mine;
  mark(view, place, bytes, value);
  return true;
}

bool RaceDetector::quick_words(const View& view, const Cells& cells, u32 cell, u32 count, u32 lane,
                               const std::byte* value, Memory& last) {
  const Stamp mine = Stamp::make(view.actor, view.state.epoch, lane, 15, view.pc);
  const Clock& known = view.knowledge.base;
  const auto is_fine = [&](Stamp other) {
    return other.empty() || known.covers_all(other) || other.key() == view.state.safe_read ||
           (other.actor() == view.actor && other.lane() == lane && lane < kLanes);
  };
  for (u32 i = cell; i < cell + count; ++i, value += value == nullptr ? 0 : 4) {
    const Stamp write = cells.writes[i];
    const Stamp reads = cells.reads[i];
    if (write.key() == last.safe_write && reads.bits == last.reads.bits) {
      cells.reads[i] = last.become;
      continue;
    }
    const bool is_quick = cells.is_own && is_fine(write) && (!view.is_write || is_fine(reads));
    if (!is_quick) {
      if (!word(view, {cells, i}, lane, value)) return false;
      continue;
    }
    if (view.is_write) {
      cells.writes[i] = mine;
      cells.reads[i] = {};
    } else {
      const Stamp now =
          is_fine(reads) ? mine : add_reader(view, cells.sets, lane, {reads, cluster_.index}, mine);
      cells.reads[i] = now;
      // Of shared memory no more is kept: the same again is one comparison.
      const bool is_any_lane = lane == Stamp::kManyLanes || ReaderSets::is_set(now);
      if (cells.page == nullptr && is_any_lane && known.covers_all(write)) {
        last = {write.key(), reads, now};
      }
    }
    if (cells.page != nullptr) mark(view, {cells, i}, 15, value);
  }
  return true;
}

/// Words of neighbouring lanes, `per_lane` each, from `lane` on.
bool RaceDetector::row(const View& view, const Cells& cells, u32 cell, u32 count, u32 per_lane,
                       u32 lane, const std::byte* values) {
  Stamp* writes = cells.writes + cell;
  Stamp* reads = cells.reads + cell;
  const Stamp write = writes[0];
  const Stamp read = reads[0];
  u64 write_differs = 0;
  u64 read_differs = 0;
  for (u32 i = 0; i < count; ++i) {
    write_differs |= writes[i].bits ^ write.bits;
    read_differs |= reads[i].bits ^ read.bits;
  }
  bool is_usual = cells.is_own && ((write_differs | read_differs) & Stamp::kKey) == 0 &&
                  is_safe(view, cells.sets, write);
  const bool is_read_safe = is_usual && is_safe(view, cells.sets, read);
  if (view.is_write || read_differs != 0) is_usual = is_read_safe;
  if (!is_usual) {
    Memory last;
    for (u32 i = 0; i < count; i += per_lane) {
      const std::byte* value = values == nullptr ? nullptr : values + u64{i} * 4;
      if (!quick_words(view, cells, cell + i, per_lane, lane + i / per_lane, value, last)) {
        return false;
      }
    }
    return true;
  }
  Stamp* stamps = view.is_write ? writes : reads;
  if (is_read_safe) {
    for (u32 i = 0; i < count; i += per_lane) {
      const Stamp mine =
          Stamp::make(view.actor, view.state.epoch, lane + i / per_lane, 15, view.pc);
      for (u32 k = 0; k < per_lane; ++k) stamps[i + k] = mine;
    }
    if (view.is_write) std::fill_n(reads, count, Stamp{});
  } else {
    const Stamp mine = Stamp::make(view.actor, view.state.epoch, Stamp::kManyLanes, 15, view.pc);
    const Stamp grown =
        add_reader(view, cells.sets, Stamp::kManyLanes, {read, cluster_.index}, mine);
    std::fill_n(reads, count, grown);
  }
  if (cells.page != nullptr) {
    const u8 touch = view.is_write ? 0x0F : 0xF0;
    for (u32 i = 0; i < count; ++i) cells.page->words->touched[cell + i] |= touch;
    if (values != nullptr) std::memcpy(&cells.page->values[cell], values, u64{count} * 4);
  }
  return true;
}

bool RaceDetector::words(const View& view, const Cells& cells, u32 lane, u32 offset, u64 bytes,
                         const std::byte* value) {
  const u32 end = offset + static_cast<u32>(bytes);
  for (u32 cell = offset / 4; cell * 4 < end; ++cell) {
    const u32 from = std::max(offset, cell * 4) - cell * 4;
    const u32 to = std::min(end, cell * 4 + 4) - cell * 4;
    const u32 part = (15U << from) & (15U >> (4 - to));
    const std::byte* whole = part == 15 && value != nullptr ? value + (cell * 4 - offset) : nullptr;
    if (!word(view, {cells, cell, part}, lane, whole)) return false;
  }
  return true;
}

bool RaceDetector::lanes(const LaneAccess& access, const u32* offsets) {
  Shadow& shadow = ctas_[access.warp.cta->rank];
  if (!access.is_write && shadow.phases.is_used() && defer(access, offsets, shadow)) return true;
  return stamp_lanes(access, offsets);
}

bool RaceDetector::stamp_lanes(const LaneAccess& access, const u32* offsets) {
  View by = view(access.warp, access.inst, access.mask);
  by.is_write = access.is_write;
  by.what = access.is_write ? "store" : "load";
  if (by.is_write) before_write(by, *access.warp.cta, access.low, access.high, access.is_row);
  const Cells cells = shared_cells(*access.warp.cta);
  const u32 count = access.bytes / 4;
  if (access.is_row && count != 0) {
    return row(by, cells, offsets[0] / 4, count * kLanes, count, 0, access.values);
  }
  // Lanes that load the same: one of them stands for all. They mostly differ in one bit of their
  // number that the address does not depend on.
  u32 mask = access.mask;
  bool is_shared = false;
  if (!access.is_write && count != 0 && mask == kAllLanes) {
    constexpr u32 kWithout[] = {0x55555555U, 0x33333333U, 0x0F0F0F0FU, 0x00FF00FFU, 0x0000FFFFU};
    for (u32 bit = 0; bit < 5; ++bit) {
      const u32 step = 1U << bit;
      u32 differs = offsets[0] ^ offsets[step];
      for (u32 i = 0; i < kLanes && differs == 0; i += 2 * step) {
        for (u32 k = i; k < i + step; ++k) differs |= offsets[k] ^ offsets[k + step];
      }
      if (differs != 0) continue;
      mask &= kWithout[bit];
      is_shared = true;
    }
  }
  Memory last;
  for (u32 rest = mask; rest != 0; rest &= rest - 1) {
    const u32 lane = Warp::first_lane(rest);
    const std::byte* value =
        access.values == nullptr ? nullptr : access.values + u64{lane} * access.bytes;
    if (count == 0) {
      const u32 at = access.is_row ? offsets[0] + lane * access.bytes : offsets[lane];
      const u32 part = ((1U << access.bytes) - 1) << (at & 3U);
      if (!word(by, {cells, at / 4, part}, lane, nullptr)) return false;
      continue;
    }
    const u32 who = is_shared ? Stamp::kManyLanes : lane;
    if (!quick_words(by, cells, offsets[lane] / 4, count, who, value, last)) return false;
  }
  return true;
}

bool RaceDetector::one(Warp& warp, const Inst& inst, const AccessRequest& request, Cta& cta,
                       u32 offset) {
  if (&cta != warp.cta && !reach(warp, inst, 1U << request.lane, cta, request.what, offset)) {
    return false;
  }
  const bool is_strong = request.order == AccessOrder::Strong;
  if (is_strong) {
    strong(view(warp, inst, 1U << request.lane), request, ctas_[cta.rank].variables[offset]);
  }
  View by = view(warp, inst, 1U << request.lane);
  by.is_write = request.is_write;
  by.what = request.what;
  by.is_strong = is_strong;
  by.is_atomic = request.is_atomic;
  by.scope = request.scope;
  const u32 bytes = static_cast<u32>(request.bytes);
  if (by.is_write) before_write(by, cta, offset, offset + bytes, true);
  const Cells cells = shared_cells(cta);
  const bool is_collective = request.order == AccessOrder::Collective;
  const u32 lane = is_collective ? Stamp::kManyLanes : request.lane;
  if (is_strong || offset % 4 != 0 || bytes % 4 != 0) {
    return words(by, cells, lane, offset, bytes, request.value);
  }
  Memory last;
  return quick_words(by, cells, offset / 4, bytes / 4, lane, request.value, last);
}

void RaceDetector::initialised(Warp& warp, const Inst& inst, u32 lane, const Cta& cta,
                               u32 barrier) {
  const View by = view(warp, inst, 1U << lane);
  if (by.state.inits == 0) by.state.inits = make_actor(Channel::Inits, by.actor);
  const Stamp stamp = Stamp::make(by.state.inits, by.state.epoch, lane, 15, by.pc);
  before_write(by, cta, barrier, barrier + 8, false);
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
  const Cells cells = shared_cells(cta);
  return judge_write(by, lane, {cells, barrier / 4}, nullptr);
}

}  // namespace pyptx::emu
