// SPDX-License-Identifier: Apache-2.0
//
// The clock of a trace. See timeline.h.
#include "observe/timeline.h"

#include <algorithm>

#include "machine/cluster.h"

namespace pyptx::emu {

Timeline::WarpTime& Timeline::of(const Warp& warp) {
  const std::size_t per_cta = warp.cta->warps.size();
  if (warps_.empty()) warps_.resize(per_cta * cluster_.ctas.size());
  return warps_[warp.cta->rank * per_cta + warp.id];
}

void Timeline::add(const TimelineEvent& event) {
  if (events_.size() < limit_) {
    events_.push_back(event);
  } else {
    ++dropped_;
  }
}

void Timeline::start(const Warp& warp) {
  running_ = &warp;
  end_waits(of(warp), warp.active);
}

void Timeline::finish(const Warp& warp, u32 pc, u32 mask, Step step) {
  WarpTime& time = of(warp);
  TimelineEvent event;
  event.rank = warp.cta->rank;
  event.warp = warp.id;
  event.pc = pc;
  event.mask = mask;
  event.start = time.now;
  if (step == Step::Wait) {
    const Split& split = warp.splits[warp.current];
    const u32 lane = Warp::first_lane(split.mask);
    event.kind = TimelineEvent::Kind::Wait;
    event.wait = split.wait.kind;
    event.address = split.wait.address;
    time.waits[lane] = event;
    time.released[lane] = 0;
    time.by[lane] = {};
    time.waiting |= 1U << lane;
  } else {
    if (cluster_.progress != seen_progress_) {
      event.start = release(time.now, pc, {event.rank, event.warp, pc, true, false});
    }
    if (event.start > time.now) add_wait(warp, pc, time.now, event.start);
    event.end = time.now = event.start + 1;
    add(event);
  }
  running_ = nullptr;
}

/// The last to come to a barrier in the order of execution need not be the last by the clock.
void Timeline::add_wait(const Warp& warp, u32 pc, u64 start, u64 end) {
  TimelineEvent event;
  event.kind = TimelineEvent::Kind::Wait;
  event.wait = Wait::Kind::None;
  event.rank = warp.cta->rank;
  event.warp = warp.id;
  event.pc = pc;
  event.start = start;
  event.end = end;
  event.by = last_to_come_;
  add(event);
}

void Timeline::arrive(const Warp& warp, u32 address, u32 pc) {
  Arrivals& at = arrivals_[address];
  const u64 now = of(warp).now;
  if (now < at.last) return;
  at.last = now;
  at.by = {warp.cta->rank, warp.id, pc, true, false};
}

void Timeline::end_phases(u64 when, const Cause& by) {
  for (const auto& cta : cluster_.ctas) {
    for (const Mbarrier& barrier : cta->mbarriers.all()) {
      if (barrier.address == 0) continue;
      const u32 address = cta->rank << kRankShift | barrier.address;
      Arrivals& at = arrivals_[address];
      if (barrier.phase < at.phase) at.phase = barrier.phase;  // initialised anew
      if (barrier.phase == at.phase) continue;
      const bool is_late = at.last > when;
      TimelineEvent event;
      event.kind = TimelineEvent::Kind::Phase;
      event.rank = cta->rank;
      event.address = barrier.address;
      event.number = at.phase;
      event.start = at.since;
      event.end = std::max(std::max(when, at.last) + 1, at.since);
      event.by = is_late ? at.by : by;
      event.pc = event.by.pc;
      at.phase = barrier.phase;
      at.since = event.end;
      add(event);
    }
  }
}

void Timeline::end_waits(WarpTime& time, u32 lanes) {
  for (u32 rest = time.waiting & lanes; rest != 0; rest &= rest - 1) {
    const u32 lane = Warp::first_lane(rest);
    TimelineEvent event = time.waits[lane];
    const bool is_matrix = event.wait == Wait::Kind::WgmmaGroups;
    time.now = std::max(time.now, is_matrix ? last_landing_ : time.released[lane]);
    event.end = time.now;
    event.by = is_matrix ? last_landed_ : time.by[lane];
    if (event.end > event.start) add(event);
  }
  time.waiting &= ~lanes;
}

u64 Timeline::release(u64 when, u32 pc, const Cause& by) {
  seen_progress_ = cluster_.progress;
  end_phases(when, by);
  const auto spelling = [&](u32 at) {
    return cluster_.program->source(cluster_.program->code[at]).spelling;
  };
  std::vector<std::pair<u64*, Cause*>> together;  // at a barrier: until the last of them has come
  u64 last = when;
  last_to_come_ = by;
  bool is_one_of_them = false;
  for (const auto& cta : cluster_.ctas) {
    for (Warp& warp : cta->warps) {
      WarpTime& time = of(warp);
      for (u32 i = 0; i < warp.split_count && time.waiting != 0; ++i) {
        Split& split = warp.splits[i];
        const u32 lane = Warp::first_lane(split.mask);
        const bool is_open = ((time.waiting >> lane) & 1U) != 0 && time.released[lane] == 0;
        // Asking about matrix groups computes them: theirs end when they land.
        if (!is_open || split.wait.kind == Wait::Kind::WgmmaGroups) continue;
        if (!cluster_.is_over(warp, split)) continue;
        const TimelineEvent& wait = time.waits[lane];
        if (split.wait.kind == Wait::Kind::Mbarrier) {
          const u32 address = split.wait.rank << kRankShift | split.wait.address;
          const Arrivals& at = arrivals_[address];
          time.released[lane] = std::max(when, at.last) + 1;
          time.by[lane] = at.last > when ? at.by : by;
          continue;
        }
        together.emplace_back(&time.released[lane], &time.by[lane]);
        if (wait.start > last) {
          last = wait.start;
          last_to_come_ = {wait.rank, wait.warp, wait.pc, true, false};
        }
        is_one_of_them = is_one_of_them || (pc != ~0U && spelling(wait.pc) == spelling(pc));
      }
    }
  }
  for (const auto& [released, cause] : together) {
    *released = last;
    *cause = last_to_come_;
  }
  return is_one_of_them ? last : when;
}

u64 Timeline::issue(const Warp& warp, u32 pc, u64 bytes) {
  TimelineEvent event;
  event.kind = TimelineEvent::Kind::Operation;
  event.rank = warp.cta->rank;
  event.warp = warp.id;
  event.pc = pc;
  event.bytes = bytes;
  event.start = of(warp).now;
  flying_.push_back(event);
  return flying_.size();
}

void Timeline::land(u64 ticket) {
  TimelineEvent& event = flying_[ticket - 1];
  u64 when = event.start + 1;
  if (running_ != nullptr) {
    when = std::max(when, of(*running_).now);
  } else {
    for (const WarpTime& time : warps_) when = std::max(when, time.now);
  }
  event.end = when;
  add(event);
  const Cause by{event.rank, event.warp, event.pc, true, true};
  if (when >= last_landing_) {
    last_landing_ = when;
    last_landed_ = by;
  }
  release(when, ~0U, by);
}

void Timeline::close() {
  u64 last = 1;
  for (const WarpTime& time : warps_) last = std::max(last, time.now);
  for (WarpTime& time : warps_) {
    for (u32 rest = time.waiting; rest != 0; rest &= rest - 1) {
      TimelineEvent event = time.waits[Warp::first_lane(rest)];
      event.end = std::max(last, event.start + 1);
      add(event);
    }
    time.waiting = 0;
  }
  for (TimelineEvent& event : flying_) {
    if (event.end != 0) continue;
    event.end = std::max(last, event.start + 1);
    add(event);
  }
}

}  // namespace pyptx::emu
