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
/// In place, by butterfly shuffles over groups of `width` lanes.
Reg reduce_sum(const Reg& value, std::int64_t width = 32, Where where = Where::current());
Reg reduce_max(const Reg& value, std::int64_t width = 32, Where where = Where::current());
Reg reduce_min(const Reg& value, std::int64_t width = 32, Where where = Where::current());
}  // namespace warp

/// One lane of those in `mask`: `predicate` is true there. Its number goes into `lane` where that
/// is given.
void elect_sync(const Reg& predicate, const author::Right& mask = 0xFFFFFFFF,
                const std::optional<Reg>& lane = {}, Where where = Where::current());

namespace bar {
void sync(const author::Right& id = 0, const std::optional<author::Right>& count = {},
          Where where = Where::current());
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
inline NamedBarrier named_barrier(const author::Right& id,
                                  const std::optional<author::Right>& count = {}) {
  return {id, count};
}

namespace fence {
void proxy_async(Where where = Where::current());
void proxy_async_global(Where where = Where::current());
void proxy_async_shared_cta(Where where = Where::current());
void proxy_async_generic_acquire_shared_cluster(Where where = Where::current());
void proxy_async_generic_release_shared_cta(Where where = Where::current());
void proxy_tensormap_release(std::string_view scope = "gpu", Where where = Where::current());
void proxy_tensormap_acquire(const Reg& map, std::string_view scope = "gpu",
                             Where where = Where::current());
void mbarrier_init(Where where = Where::current());
void acq_rel(std::string_view scope = "gpu", Where where = Where::current());
void sc(std::string_view scope = "gpu", Where where = Where::current());
}  // namespace fence

void setmaxnreg(std::int64_t count, bool increase, Where where = Where::current());

namespace cluster {
void arrive(bool aligned = false, Where where = Where::current());
void wait(bool aligned = false, Where where = Where::current());
void sync(bool aligned = false, Where where = Where::current());
Reg rank(Where where = Where::current());
/// The shared address of the same place in CTA `cta`, a 32-bit register.
Reg map_shared(const author::Place& place, const Index& cta, Where where = Where::current());
/// On the same mbarrier of CTA `cta`; of each CTA that has a bit in `mask`.
void arrive_remote(const author::Place& barrier, const Index& cta, const Index& count = 1,
                   const Guard& guard = {}, Where where = Where::current());
void arrive_multicast(const author::Place& barrier, const Index& mask, const Index& count = 1,
                      Where where = Where::current());
}  // namespace cluster
}  // namespace pyptx::ptx
