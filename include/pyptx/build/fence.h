// SPDX-License-Identifier: Apache-2.0
//
// Fences of the async protocol and the register budget of warpgroups (PTX ISA, "membar, fence" and
// "setmaxnreg").
#pragma once

#include <cstdint>
#include <string_view>

#include "pyptx/build/tracer.h"

namespace pyptx::build::fence {

/// fence.proxy.async: orders the generic and the async proxy.
void proxy_async(Tracer& tracer);
void proxy_async_shared_cta(Tracer& tracer);
void proxy_async_generic_acquire_shared_cluster(Tracer& tracer);
void proxy_async_generic_release_shared_cta(Tracer& tracer);
void proxy_async_global(Tracer& tracer);
/// fence.acq_rel and fence.sc at `scope`: "cta", "cluster", "gpu" or "sys".
void acq_rel(Tracer& tracer, std::string_view scope);
void sc(Tracer& tracer, std::string_view scope);
/// Orders writes of a tensor map with the copies that use it: release after it was written, acquire
/// of the 128 bytes at `map` (generic) before it is used.
void proxy_tensormap_release(Tracer& tracer, std::string_view scope);
void proxy_tensormap_acquire(Tracer& tracer, Reg map, std::string_view scope);
/// Makes mbarrier.init visible to the cluster.
void mbarrier_init(Tracer& tracer);

/// Raises or lowers the registers of a warpgroup's threads to `count`: 24 to 256, a multiple of 8.
void setmaxnreg(Tracer& tracer, std::int64_t count, bool increase);

}  // namespace pyptx::build::fence
