// SPDX-License-Identifier: Apache-2.0
//
// Fences of the async protocol and the register budget of warpgroups (PTX ISA, "membar, fence" and
// "setmaxnreg").
#pragma once

#include <cstdint>

#include "pyptx/build/tracer.h"

namespace pyptx::build::fence {

/// fence.proxy.async: orders the generic and the async proxy.
void proxy_async(Tracer& tracer);
void proxy_async_shared_cta(Tracer& tracer);
void proxy_async_generic_acquire_shared_cluster(Tracer& tracer);
/// Makes mbarrier.init visible to the cluster.
void mbarrier_init(Tracer& tracer);

/// Raises or lowers the registers of a warpgroup's threads to `count`: 24 to 256, a multiple of 8.
void setmaxnreg(Tracer& tracer, std::int64_t count, bool increase);

}  // namespace pyptx::build::fence
