// SPDX-License-Identifier: Apache-2.0
//
// Fences and setmaxnreg. PTX ISA, "membar, fence", "setmaxnreg".
#include "pyptx/build/fence.h"

#include <string>

#include "arguments.h"
#include "pyptx/support/concat.h"

namespace pyptx::build::fence {

void proxy_async(Tracer& tracer) { tracer.emit("fence.proxy.async", {}); }

void proxy_async_shared_cta(Tracer& tracer) { tracer.emit("fence.proxy.async.shared::cta", {}); }

void proxy_async_generic_acquire_shared_cluster(Tracer& tracer) {
  tracer.emit("fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster", {});
}

void proxy_async_generic_release_shared_cta(Tracer& tracer) {
  tracer.emit("fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster", {});
}

void proxy_async_global(Tracer& tracer) { tracer.emit("fence.proxy.async.global", {}); }

void acq_rel(Tracer& tracer, std::string_view scope) {
  tracer.emit(support::concat("fence.acq_rel.", scope), {});
}

void sc(Tracer& tracer, std::string_view scope) {
  tracer.emit(support::concat("fence.sc.", scope), {});
}

void proxy_tensormap_release(Tracer& tracer, std::string_view scope) {
  tracer.emit(support::concat("fence.proxy.tensormap::generic.release.", scope), {});
}

void proxy_tensormap_acquire(Tracer& tracer, Reg map, std::string_view scope) {
  constexpr std::int64_t kMapBytes = 128;
  if (!check_wide(tracer, {"the tensor map of a fence", "map"}, map)) return;
  tracer.emit(support::concat("fence.proxy.tensormap::generic.acquire.", scope),
              {tracer.address(map), ir::Operand::integer(kMapBytes)});
}

void mbarrier_init(Tracer& tracer) { tracer.emit("fence.mbarrier_init.release.cluster", {}); }

void setmaxnreg(Tracer& tracer, std::int64_t count, bool increase) {
  if (count < 24 || count > 256 || count % 8 != 0) {
    refuse(tracer, {"the count of setmaxnreg", "count|n"}, "a multiple of 8 within 24 to 256",
           std::to_string(count));
    return;
  }
  tracer.emit(increase ? "setmaxnreg.inc.sync.aligned.u32" : "setmaxnreg.dec.sync.aligned.u32",
              {ir::Operand::integer(count)});
}

}  // namespace pyptx::build::fence
