// SPDX-License-Identifier: Apache-2.0
//
// What threads learn from each other: barriers, mbarriers, fences, waits for groups.
#include "machine/cluster.h"
#include "pyptx/emu/stream.h"
#include "race/detector.h"

namespace pyptx::emu {

RaceDetector::RaceDetector(Cluster& cluster, GlobalShadow* global)
    : cluster_(cluster),
      ctas_(cluster.ctas.size()),
      own_global_(global == nullptr ? std::make_unique<GlobalShadow>() : nullptr),
      global_(global == nullptr ? *own_global_ : *global) {
  const Options& options = cluster.launch->options;
  if (options.is_programmatic && options.stream != nullptr) before_ = options.stream->last();
  for (const auto& cta : cluster.ctas) {
    Shadow& shadow = ctas_[cta->rank];
    shadow.writes.resize((cta->shared.size() + 3) / 4);
    shadow.reads.resize(shadow.writes.size());
    // An asynchronous write must know of a load by its proxy, another CTA's by its own knowledge.
    const bool is_alone = cluster.ctas.size() == 1 && !cluster.program->has_async_writes;
    if (is_alone) shadow.phases.start(cta->shared.size());
    for (const auto& [first, end] : cluster.program->shared_gaps) {
      const Stamp nobody = Stamp::make(Stamp::kNobody, Stamp::kPending, 0, 15, 0);
      std::fill(shadow.writes.begin() + first / 4, shadow.writes.begin() + end / 4, nobody);
      if (is_alone) shadow.phases.write(first, end, true);
    }
    for (std::size_t i = 0; i < cta->warps.size(); ++i) make_actor(Channel::Warp);
  }
  warps_.resize(channels_.size());
  for (u32 i = 0; i < warps_.size(); ++i) owners_[i] = i;
}

u32 RaceDetector::make_actor(Channel channel, u32 warp) {
  // Actors past the last share one: they can then hide each other's races, never invent one.
  if (channels_.size() + 1 >= Stamp::kNobody) return static_cast<u32>(channels_.size()) - 1;
  channels_.push_back(channel);
  owners_.push_back(warp);
  return static_cast<u32>(channels_.size()) - 1;
}

PhaseKnowledge& RaceDetector::phase_of(const Cta& cta, u32 barrier) {
  const auto [at, is_new] = ctas_[cta.rank].mbarriers.try_emplace(barrier);
  if (is_new) at->second.actor = make_actor(Channel::Transactions);
  return at->second;
}

void RaceDetector::mark_self(Clock& clock, const Warp& warp, u32 mask) const {
  const u32 self = number(warp);
  const WarpState& state = warps_[self];
  const auto mark = [&](u32 actor) {
    if ((warp.live & ~mask) == 0) {
      clock.at(actor).all = state.epoch;
    } else {
      clock.at(actor).merge({0, state.epoch, mask});
    }
  };
  mark(self);
  if (state.inits != 0) mark(state.inits);
}

void RaceDetector::release(Warp& warp, u32 mask, Knowledge& into) {
  settle_loads(warps_[number(warp)]);
  hand_on(warp, mask, into);
}

void RaceDetector::hand_on(Warp& warp, u32 mask, Knowledge& into) {
  WarpState& state = warps_[number(warp)];
  // Each lane hands on what it knows: together they know what the best informed of them does.
  into.join((mask & state.some_mask) != 0 ? state.some : state.all);
  mark_self(into.base, warp, mask);
  ++state.epoch;
}

void RaceDetector::acquire(Warp& warp, u32 mask, const Knowledge& from) {
  WarpState& state = warps_[number(warp)];
  settle_loads(state);
  if ((warp.live & ~mask) == 0) {
    state.all.join(from);
    if (state.some_mask != 0) state.some.join(from);
    return;
  }
  if (state.some_mask == 0) state.some = state.all;
  state.some_mask |= mask;
  state.some.join(from);
}

void RaceDetector::sync_lanes(Warp& warp) {
  WarpState& state = warps_[number(warp)];
  settle_loads(state);
  if (state.some_mask != 0) state.all.join(state.some);
  state.some_mask = 0;
  mark_self(state.all.base, warp, warp.live);
  ++state.epoch;
}

void RaceDetector::fence_proxy(Warp& warp, u32 mask, bool is_shared, bool is_global) {
  WarpState& state = warps_[number(warp)];
  settle_loads(state);
  const auto cover = [&](Clock& proxy, const Clock& base) {
    proxy.join(base);
    mark_self(proxy, warp, mask);
  };
  const auto fence = [&](Knowledge& knowledge) {
    if (is_shared) cover(knowledge.proxy, knowledge.base);
    if (!is_global) return;
    cover(knowledge.global_proxy, knowledge.base);
    if (!knowledge.foreign.empty()) knowledge.foreign.cover();
  };
  // A fence of some lanes covers what they know; the others' part is not worth a third clock.
  fence(state.all);
  if (state.some_mask != 0) fence(state.some);
  ++state.epoch;
}

void RaceDetector::fence_halves(Warp& warp, u32 mask, Semantics semantics, Scope scope) {
  WarpState& state = warps_[number(warp)];
  const auto both = [&](auto&& change) {
    change(state.all);
    if (state.some_mask != 0) change(state.some);
  };
  if (acquires(semantics)) fence(warp, mask, Semantics::Acquire, scope);
  if (releases(semantics)) {
    both([&](Knowledge& knowledge) {
      knowledge.halfway.join(knowledge.base);
      mark_self(knowledge.halfway, warp, mask);
    });
    fence(warp, mask, Semantics::Release, scope);
  }
  if (acquires(semantics)) {
    both([](Knowledge& knowledge) { knowledge.proxy.join(knowledge.halfway); });
  }
}

void RaceDetector::fence(Warp& warp, u32 mask, Semantics semantics, Scope scope) {
  WarpState& state = warps_[number(warp)];
  const u32 reach = static_cast<u32>(scope);
  for (u32 i = 0; i <= reach && acquires(semantics); ++i) {
    if (state.glimpsed[i].empty()) continue;
    acquire(warp, mask, state.glimpsed[i]);
    if ((warp.live & ~mask) == 0) state.glimpsed[i].clear();
  }
  if (!releases(semantics)) return;
  if (scope == Scope::Gpu) {
    const auto cover = [&](Knowledge& knowledge) {
      knowledge.fences.join(knowledge.base);
      mark_self(knowledge.fences, warp, mask);
    };
    cover(state.all);
    if (state.some_mask != 0) cover(state.some);
  }
  release(warp, mask, state.fenced[reach]);
}

void RaceDetector::fence_inits(Warp& warp, u32 mask) {
  WarpState& state = warps_[number(warp)];
  if (state.inits == 0) return;
  Clock all;
  mark_self(all, warp, mask);
  state.fenced[static_cast<u32>(Scope::Cluster)].base.at(state.inits).merge(all.at(state.inits));
  ++state.epoch;
}

void RaceDetector::wait_for_grids(Warp& warp, u32 mask) {
  Knowledge done;
  done.is_behind_wait = true;
  acquire(warp, mask, done);
}

void BarrierKnowledge::enter(u64 next) {
  if (generation == next) return;
  finished.join(arrived);
  arrived.clear();
  generation = next;
}

void RaceDetector::arrive(Warp& warp, u32 mask, BarrierKnowledge& barrier, u64 generation) {
  barrier.enter(generation);
  release(warp, mask, barrier.arrived);
}

void RaceDetector::meet(Warp& warp, u32 mask, u32 barrier, u64 generation) {
  Shadow& shadow = ctas_[warp.cta->rank];
  if ((warp.live & ~mask) != 0) {
    shadow.met_in_part |= 1U << barrier;
    settle_loads(warps_[number(warp)]);
  }
  // Its loads wait with it: if the whole CTA comes, nobody will ask for them.
  BarrierKnowledge& known = shadow.barriers[barrier];
  known.enter(generation);
  hand_on(warp, mask, known.arrived);
}

void RaceDetector::arrive_relaxed(Warp& warp, u32 mask, BarrierKnowledge& barrier, u64 generation) {
  barrier.enter(generation);
  WarpState& state = warps_[number(warp)];
  settle_loads(state);
  for (const Knowledge& fenced : state.fenced) barrier.arrived.join(fenced);
  mark_self(barrier.arrived.tensor, warp, mask);
  ++state.epoch;
}

void RaceDetector::passed(Warp& warp, u32 mask, const BarrierKnowledge& barrier, u64 complete) {
  acquire(warp, mask, barrier.finished);
  if (barrier.generation < complete) acquire(warp, mask, barrier.arrived);
}

void RaceDetector::arrive(Warp& warp, u32 mask, const Cta& cta, u32 barrier) {
  release(warp, mask, phase_of(cta, barrier).arrived);
}

void RaceDetector::follow(const Cta& cta, const Mbarrier& barrier) {
  PhaseKnowledge& phase = phase_of(cta, barrier.address);
  if (phase.phase == barrier.phase) return;
  phase.phase = barrier.phase;
  phase.finished.join(phase.arrived);
  phase.arrived.clear();
  const u32 epoch = phase.first + static_cast<u32>(barrier.phase);
  phase.finished.merge(phase.actor, {epoch, 0, 0});
}

void RaceDetector::waited(Warp& warp, u32 mask, const Cta& cta, const Mbarrier& barrier) {
  PhaseKnowledge& phase = phase_of(cta, barrier.address);
  if (phase.phase != barrier.phase) {
    // Somebody arrived in a way that is not followed here: all that is known so far may be behind
    // it.
    for (const WarpState& state : warps_) phase.arrived.join(state.all);
    follow(cta, barrier);
  }
  acquire(warp, mask, phase.finished);
}

void RaceDetector::wait_bulk(Warp& warp, u32 lane, u64 end, bool is_read) {
  // The wait is for reads of the maps too, of copies into shared memory as well: CUTLASS changes
  // a map behind it.
  const u32 self = number(warp);
  for (auto& [address, reads] : map_reads_) {
    std::erase_if(reads, [&](const MapRead& read) {
      return read.warp == self && read.lane == lane && read.group < end;
    });
  }
  const u32 actor = warps_[self].bulk[lane];
  if (actor == 0 || end == 0) return;
  Knowledge done;
  done.merge(actor, {static_cast<u32>(end), 0, 0});
  if (!is_read) done.merge(actor + 1, {static_cast<u32>(end), 0, 0});
  acquire(warp, 1U << lane, done);
}

void RaceDetector::commit_copies(Warp& warp, u32 mask) {
  WarpState& state = warps_[number(warp)];
  for (u32 rest = mask; rest != 0; rest &= rest - 1) {
    state.era_of_[Warp::first_lane(rest)].push(state.era);
  }
  ++state.era;
}

void RaceDetector::wait_copies(Warp& warp, u32 lane, u64 end, bool is_all) {
  WarpState& state = warps_[number(warp)];
  if (state.copies == 0) return;
  settle_loads(state);
  const GroupEpochs& eras = state.era_of_[lane];
  u32 era = 0;
  if (is_all) {
    era = state.era;
  } else if (end != 0 && end <= eras.size()) {
    era = eras.of(end - 1);
  }
  // Every thread waits for its own copies, usually all of a warp at once: what a lane knows of its
  // own is noted for that lane, and a warp-wide release speaks for all.
  for (Knowledge* knowledge : {&state.all, &state.some}) {
    Seen& seen = knowledge->base.at(state.copies);
    if (era > seen.some && seen.all == seen.some) seen.mask = 0;
    seen.some = std::max(seen.some, era);
    seen.mask |= 1U << lane;
    if ((warp.live & ~seen.mask) == 0) seen.all = std::max(seen.all, era);
    if (state.some_mask == 0) break;
  }
  if (is_all) ++state.era;
}

void RaceDetector::copies_arrived(Warp& warp, u32 lane, u32 era, Cta& cta, u32 barrier) {
  WarpState& state = warps_[number(warp)];
  Knowledge& into = phase_of(cta, barrier).arrived;
  into.join(state.all);
  if (state.copies != 0) into.base.at(state.copies).merge({0, era, 1U << lane});
}

void RaceDetector::commit_matrix(Warp& warp, u64 issued) {
  warps_[number(warp)].epoch_of_group.push(static_cast<u32>(issued));
}

void RaceDetector::wait_matrix(Warp& warp, u64 end) {
  WarpState& state = warps_[number(warp)];
  if (end == 0 || end > state.epoch_of_group.size()) return;
  Knowledge done;
  done.merge(tile_of(warp).actor, {state.epoch_of_group.of(end - 1), 0, 0});
  acquire(warp, warp.live, done);
}

}  // namespace pyptx::emu
