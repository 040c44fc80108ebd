// SPDX-License-Identifier: Apache-2.0
//
// Thread block clusters: the cluster barrier, ranks, addresses in other CTAs, remote arrivals
// (PTX ISA, "barrier.cluster", "mapa", "mbarrier.arrive").
#pragma once

#include <optional>

#include "pyptx/build/shared.h"
#include "pyptx/build/tracer.h"

namespace pyptx::build::cluster {

/// Arrives at the barrier of the cluster.
void arrive(Tracer& tracer, bool aligned = false);
/// Waits for every thread of the cluster to arrive.
void wait(Tracer& tracer, bool aligned = false);
/// arrive, then wait.
void sync(Tracer& tracer, bool aligned = false);
/// The rank of this CTA in its cluster, in `destination` or a fresh register.
Reg rank(Tracer& tracer, std::optional<Reg> destination = {});
/// The shared::cluster address that `place` has in CTA `cta`.
Reg map_shared(Tracer& tracer, const SharedPlace& place, const Index& cta);
/// Arrives `count` times on `barrier` of every CTA whose bit is set in `mask`. A constant mask is
/// unrolled, a register one is a loop.
void arrive_multicast(Tracer& tracer, const SharedPlace& barrier, const Index& mask,
                      const Index& count = 1);

}  // namespace pyptx::build::cluster
