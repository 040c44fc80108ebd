// SPDX-License-Identifier: Apache-2.0
//
// What the threads of a warp, a CTA and a cluster do together, and fences: the functions of
// pyptx/build for the kernel being written on this thread.
#pragma once

#include <cstdint>
#include <optional>
#include <source_location>
#include <string_view>

#include "pyptx/author/smem.h"
#include "pyptx/build/operators.h"

namespace pyptx::ptx {

using Where = std::source_location;

namespace warp {
/// The sum over each group of `width` lanes, in place, by butterfly shuffles; every lane has it.
Reg reduce_sum(const Reg& value, std::int64_t width = 32, Where where = Where::current());
/// The greatest, in the same way.
Reg reduce_max(const Reg& value, std::int64_t width = 32, Where where = Where::current());
/// The least, in the same way.
Reg reduce_min(const Reg& value, std::int64_t width = 32, Where where = Where::current());
}  // namespace warp

/// One lane of those in `mask`: `predicate` is true there. Its number goes into `lane` where that
/// is given.
void elect_sync(const Reg& predicate, const author::Right& mask = 0xFFFFFFFF,
                const std::optional<Reg>& lane = {}, Where where = Where::current());

namespace bar {
/// Waits for the threads of the CTA, or `count` of them, at barrier `id`.
void sync(const author::Right& id = 0, const std::optional<author::Right>& count = {},
          Where where = Where::current());
/// Arrives at barrier `id` and goes on; `count` threads take part.
void arrive(const author::Right& id, const author::Right& count, Where where = Where::current());
}  // namespace bar

/// The barrier `id` of the CTA, for `count` threads or all.
struct NamedBarrier {
  author::Right id;
  std::optional<author::Right> count;
  void sync(Where where = Where::current()) const { bar::sync(id, count, where); }
  /// `count` has to be there.
  void arrive(Where where = Where::current()) const;
};
/// The barrier `id`.
inline NamedBarrier named_barrier(const author::Right& id,
                                  const std::optional<author::Right>& count = {}) {
  return {id, count};
}

namespace fence {
/// Orders generic and async accesses.
void proxy_async(Where where = Where::current());
/// Orders generic and async accesses to global memory.
void proxy_async_global(Where where = Where::current());
/// Orders generic and async accesses to shared memory of this CTA.
void proxy_async_shared_cta(Where where = Where::current());
/// Acquires what the async proxy wrote, for the cluster.
void proxy_async_generic_acquire_shared_cluster(Where where = Where::current());
/// Releases generic writes to the async proxy.
void proxy_async_generic_release_shared_cta(Where where = Where::current());
/// After a tensor map was written, before others acquire it.
void proxy_tensormap_release(std::string_view scope = "gpu", Where where = Where::current());
/// Before a copy uses the map at this generic address.
void proxy_tensormap_acquire(const Reg& map, std::string_view scope = "gpu",
                             Where where = Where::current());
/// Makes initialised mbarriers visible to the cluster.
void mbarrier_init(Where where = Where::current());
/// Acquires and releases at this scope.
void acq_rel(std::string_view scope = "gpu", Where where = Where::current());
/// Orders everything at this scope, sequentially consistent.
void sc(std::string_view scope = "gpu", Where where = Where::current());
}  // namespace fence

/// Takes or gives registers of the warpgroup: setmaxnreg.inc, setmaxnreg.dec.
void setmaxnreg(std::int64_t count, bool increase, Where where = Where::current());

namespace cluster {
/// Arrives at the barrier of the cluster.
void arrive(bool aligned = false, Where where = Where::current());
/// Waits for every thread of the cluster to arrive.
void wait(bool aligned = false, Where where = Where::current());
/// arrive, then wait.
void sync(bool aligned = false, Where where = Where::current());
/// The rank of this CTA in its cluster.
Reg rank(Where where = Where::current());
/// The shared address of the same place in CTA `cta`, a 32-bit register.
Reg map_shared(const author::Place& place, const Index& cta, Where where = Where::current());
/// Arrives `count` times on the same mbarrier of CTA `cta`.
void arrive_remote(const author::Place& barrier, const Index& cta, const Index& count = 1,
                   const Guard& guard = {}, Where where = Where::current());
/// The same on every CTA that has a bit in `mask`.
void arrive_multicast(const author::Place& barrier, const Index& mask, const Index& count = 1,
                      Where where = Where::current());
}  // namespace cluster
}  // namespace pyptx::ptx
