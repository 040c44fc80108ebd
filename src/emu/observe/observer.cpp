// SPDX-License-Identifier: Apache-2.0
//
// Counting. See observer.h.
#include "observe/observer.h"

#include <bit>
#include <utility>

#include "machine/cluster.h"
#include "pyptx/isa/ids.h"
#include "pyptx/layout/banks.h"

namespace pyptx::emu {
namespace {

Step run_observed(Warp& warp, const Inst& inst, u32 mask) {
  return warp.cta->cluster->observer->run(warp, inst, mask);
}

Route route_of(const Warp& warp, Space space, u64 address) {
  switch (space == Space::Generic ? classify(address) : space) {
    case Space::Shared:
      return Route::Shared;
    case Space::SharedCluster:
      return (address & 0xFFFFFFFFU) >> kRankShift == warp.cta->rank ? Route::Shared : Route::Dsmem;
    case Space::Local:
      return Route::Local;
    case Space::Param:
      return Route::Param;
    case Space::Const:
      return Route::Const;
    default:
      return Route::Global;
  }
}

/// Sectors are counted from the start of each buffer: a GPU's allocations are aligned, and the
/// count must not depend on where the host put the array.
void count_from_buffers(const Cluster& cluster, std::array<u64, kLanes>& addresses, u32 mask,
                        u32 bytes) {
  for (u32 rest = mask; rest != 0; rest &= rest - 1) {
    u64& address = addresses[Warp::first_lane(rest)];
    const std::ptrdiff_t found = cluster.memory->find(address, bytes, cluster.last_buffer);
    if (found < 0) continue;  // the access itself will say so
    const auto number = static_cast<std::size_t>(found);
    address = (u64{number} << 48) + (address - cluster.memory->buffer(number).address);
  }
}

bool is_branch(const Program& program, const Inst& inst) {
  return program.source(inst).form().form->flow == isa::Flow::Jump;
}

bool is_arrival(const Program& program, const Inst& inst) {
  return program.source(inst).form().form->sem == isa::Sem::mbarrier_arrive;
}

}  // namespace

Cost& Cost::operator+=(const Cost& other) {
  executed += other.executed;
  skipped += other.skipped;
  lanes += other.lanes;
  partial += other.partial;
  loaded += other.loaded;
  stored += other.stored;
  wavefronts += other.wavefronts;
  conflicts += other.conflicts;
  sectors += other.sectors;
  return *this;
}

void Tally::add(const Tally& other) {
  costs.resize(other.costs.size());
  for (std::size_t i = 0; i < costs.size(); ++i) costs[i] += other.costs[i];
  for (std::size_t i = 0; i < routes.size(); ++i) {
    routes[i].requests += other.routes[i].requests;
    routes[i].loaded += other.routes[i].loaded;
    routes[i].stored += other.routes[i].stored;
  }
  for (const auto& [pc, use] : other.banks) banks[pc] += use;
  branches += other.branches;
  divergent_branches += other.divergent_branches;
}

BankUse& BankUse::operator+=(const BankUse& other) {
  for (std::size_t bank = 0; bank < words.size(); ++bank) words[bank] += other.words[bank];
  const bool is_worse = other.worst_wavefronts > worst_wavefronts;
  if (is_worse || (other.worst_wavefronts == worst_wavefronts && other.worst < worst)) {
    worst_wavefronts = other.worst_wavefronts;
    worst = other.worst;
    worst_mask = other.worst_mask;
    bytes = other.bytes;
  }
  return *this;
}

Observed::Observed(const Program& original, bool counts) : program(original), is_counted(counts) {
  shows.resize(program.code.size());
  for (const u32 pc : TileViewer::places(original)) shows[pc] = true;
  for (std::size_t pc = 0; pc < program.code.size(); ++pc) {
    const bool is_end = pc + 1 == program.code.size();  // nobody counts the exit at the end
    handlers.push_back(program.code[pc].run);
    if (shows[pc] || (is_counted && !is_end)) program.code[pc].run = &run_observed;
  }
}

Observer::Observer(Cluster& cluster, const Observed& observed, u64 event_limit)
    : observed_(observed), timeline_(cluster, event_limit) {
  tally_.costs.resize(observed.program.code.size());
  keeps_tensor_uses_ = observed.is_counted && cluster.index == 0;
}

u32 Observer::counter_of(const Inst& inst) const {
  return static_cast<u32>(&inst - observed_.program.code.data());
}

Step Observer::run(Warp& warp, const Inst& inst, u32 mask) {
  const u32 pc = counter_of(inst);
  const bool is_end = pc + 1 == observed_.program.code.size();
  const bool shows = observed_.shows[pc];
  if (shows) viewer_.before(warp, pc, mask);
  const Step step = !observed_.is_counted || is_end ? observed_.handlers[pc](warp, inst, mask)
                                                    : count(warp, inst, mask, pc);
  if (shows) viewer_.after(warp, pc, mask, step);
  return step;
}

Step Observer::count(Warp& warp, const Inst& inst, u32 mask, u32 pc) {
  const u32 active = warp.active;
  const MemoryAccess& access = observed_.program.accesses[pc];
  touched_ = {};
  if (access.kind != MemoryAccess::Kind::None) measure(warp, inst, access, mask);
  if (timeline_.is_on()) timeline_.start(warp);
  if (timeline_.is_on() && is_arrival(observed_.program, inst)) {
    timeline_.arrive(warp, static_cast<u32>(lane_address(warp, inst, Warp::first_lane(mask))), pc);
  }
  const Step step = observed_.handlers[pc](warp, inst, mask);
  if (timeline_.is_on()) timeline_.finish(warp, pc, mask, step);
  if (step == Step::Wait || step == Step::Fault) return step;
  ++clock_;
  touched_.costs.executed = 1;
  touched_.costs.lanes = static_cast<u64>(std::popcount(mask));
  touched_.costs.partial = mask != warp.lanes ? 1 : 0;
  tally_.costs[pc] += touched_.costs;
  if (touched_.banks.worst_wavefronts != 0) tally_.banks[pc] += touched_.banks;
  for (std::size_t i = 0; i < tally_.routes.size(); ++i) {
    tally_.routes[i].requests += touched_.routes[i].requests;
    tally_.routes[i].loaded += touched_.routes[i].loaded;
    tally_.routes[i].stored += touched_.routes[i].stored;
  }
  if (is_branch(observed_.program, inst)) {
    ++tally_.branches;
    tally_.divergent_branches += mask != active ? 1 : 0;
  }
  return step;
}

void Observer::measure(Warp& warp, const Inst& inst, const MemoryAccess& access, u32 mask) {
  const u32 rows = access.rows >= kLanes ? kAllLanes : (1U << access.rows) - 1;
  const u32 lanes = access.rows == 0 ? mask : rows;
  std::array<u64, kLanes> addresses{};
  std::array<u32, static_cast<std::size_t>(Route::Count)> masks{};
  for (u32 rest = lanes; rest != 0; rest &= rest - 1) {
    const u32 lane = Warp::first_lane(rest);
    addresses[lane] = lane_address(warp, inst, lane);
    const Route route = route_of(warp, inst.space, addresses[lane]);
    masks[static_cast<std::size_t>(route)] |= 1U << lane;
  }
  for (std::size_t i = 0; i < masks.size(); ++i) {
    if (masks[i] == 0) continue;
    const u64 bytes = static_cast<u64>(std::popcount(masks[i])) * access.bytes;
    const u64 loaded = access.kind == MemoryAccess::Kind::Store ? 0 : bytes;
    const u64 stored = access.kind == MemoryAccess::Kind::Load ? 0 : bytes;
    touched_.routes[i] = {1, loaded, stored};
    touched_.costs.loaded += loaded;
    touched_.costs.stored += stored;
    if (access.is_opaque) continue;
    const Route route = static_cast<Route>(i);
    if (route == Route::Shared || route == Route::Dsmem) {
      BankUse use;
      const layout::Wavefronts taken =
          layout::wavefronts(addresses, masks[i], access.bytes, &use.words);
      use.worst_wavefronts = taken.taken;
      use.worst_mask = masks[i];
      use.bytes = access.bytes;
      for (u32 rest = masks[i]; rest != 0; rest &= rest - 1) {
        const u32 lane = Warp::first_lane(rest);
        use.worst[lane] = static_cast<u32>(addresses[lane]) & kOffsetMask;
      }
      touched_.banks += use;
      touched_.costs.wavefronts += taken.taken;
      touched_.costs.conflicts += taken.taken - taken.fewest;
    }
    if (route == Route::Global) {
      count_from_buffers(*warp.cta->cluster, addresses, masks[i], access.bytes);
      touched_.costs.sectors += layout::sectors(addresses, masks[i], access.bytes);
    }
  }
}

void Observer::moved(Route route, const Inst& inst, u64 loaded, u64 stored) {
  RouteCount& count = tally_.routes[static_cast<std::size_t>(route)];
  ++count.requests;
  count.loaded += loaded;
  count.stored += stored;
  Cost& cost = tally_.costs[counter_of(inst)];
  cost.loaded += loaded;
  cost.stored += stored;
}

u64 Observer::issued(const Warp& warp, const Inst& inst, u64 bytes) {
  return timeline_.is_on() ? timeline_.issue(warp, counter_of(inst), bytes) : 0;
}

u64 Observer::issued(const BulkOp& op) {
  const u64 copies = op.cta_mask == 0 ? 1 : static_cast<u64>(std::popcount(op.cta_mask));
  switch (op.kind) {
    case BulkOp::Kind::ToShared:
    case BulkOp::Kind::TensorLoad:
      moved(Route::AsyncToShared, *op.inst, op.bytes, op.bytes * copies);
      break;
    case BulkOp::Kind::ToGlobal:
    case BulkOp::Kind::TensorStore:
      moved(Route::AsyncToGlobal, *op.inst, op.bytes, op.bytes);
      break;
    default:
      moved(Route::AsyncSharedToShared, *op.inst, op.bytes, op.bytes);
      break;
  }
  return issued(*op.warp, *op.inst, op.bytes * copies);
}

u64 Observer::copy_issued(const Warp& warp, const Inst& inst, u64 bytes) {
  moved(Route::AsyncToShared, inst, bytes, bytes);
  return issued(warp, inst, bytes);
}

void Observer::landed(u64 ticket) { timeline_.land(ticket); }

}  // namespace pyptx::emu
