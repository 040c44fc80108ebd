// SPDX-License-Identifier: Apache-2.0
//
// What happens to a CTA's barriers when lanes leave, and per-thread local memory.
#include "machine/cta.h"

#include <bit>

#include "machine/cluster.h"
#include "race/detector.h"

namespace pyptx::emu {

void Cta::settle(NamedBarrier& barrier) {
  if (barrier.arrived == 0) return;
  u32 needed = barrier.expected;
  if (barrier.whole_cta) {
    needed = 0;
    for (const Warp& warp : warps) needed += static_cast<u32>(std::popcount(warp.live));
  }
  if (barrier.arrived < needed) return;
  if (barrier.whole_cta && cluster->races) {
    cluster->races->met(*this, static_cast<u32>(&barrier - barriers.data()));
  }
  NamedBarrier next;
  next.generation = barrier.generation + 1;
  next.last_votes = barrier.votes;
  next.last_arrived = barrier.arrived;
  barrier = next;
  ++cluster->progress;
}

void Cta::lanes_exited(Warp& warp, u32 mask) {
  cluster->lanes_exited(warp, mask);
  ++cluster->progress;
  if (warp.done()) ++finished_warps;
  for (NamedBarrier& barrier : barriers) {
    if (barrier.whole_cta) settle(barrier);
  }
}

std::byte* Cta::local_of(u32 warp, u32 lane) {
  const u64 bytes = cluster->program->local_bytes;
  if (local.empty()) {
    local = AlignedBytes(bytes * kLanes * warps.size());
    local_defined = AlignedBytes(local.size());
  }
  return local.data() + bytes * (u64{warp} * kLanes + lane);
}

}  // namespace pyptx::emu
