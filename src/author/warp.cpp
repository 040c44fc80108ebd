// SPDX-License-Identifier: Apache-2.0
#include "pyptx/author/warp.h"

#include "pyptx/build/cluster.h"
#include "pyptx/build/fence.h"
#include "pyptx/build/mbarrier.h"
#include "pyptx/build/warp.h"

namespace pyptx::ptx {

using author::at;

namespace warp {
Reg reduce_sum(const Reg& value, std::int64_t width, Where where) {
  return build::warp_reduce(at(where), build::BinaryOp::Add, value, width);
}
Reg reduce_max(const Reg& value, std::int64_t width, Where where) {
  return build::warp_reduce(at(where), build::BinaryOp::Max, value, width);
}
Reg reduce_min(const Reg& value, std::int64_t width, Where where) {
  return build::warp_reduce(at(where), build::BinaryOp::Min, value, width);
}
}  // namespace warp

void elect_sync(const Reg& predicate, const author::Right& mask, const std::optional<Reg>& lane,
                Where where) {
  std::optional<build::Reg> destination;
  if (lane) destination = *lane;
  build::elect_sync(at(where), destination, predicate, mask.value);
}

namespace bar {
void sync(const author::Right& id, const std::optional<author::Right>& count, Where where) {
  std::optional<build::Value> threads;
  if (count) threads = count->value;
  build::bar_sync(at(where), id.value, threads);
}
void arrive(const author::Right& id, const author::Right& count, Where where) {
  build::bar_arrive(at(where), id.value, count.value);
}
}  // namespace bar

void NamedBarrier::arrive(Where where) const {
  if (count) return bar::arrive(id, *count, where);
  at(where).report({diag::Kind::BadArgument,
                    {"the count of a barrier to arrive at", "a number of threads", "none"}});
}

namespace fence {
namespace core = build::fence;

void proxy_async(Where where) { core::proxy_async(at(where)); }
void proxy_async_global(Where where) { core::proxy_async_global(at(where)); }
void proxy_async_shared_cta(Where where) { core::proxy_async_shared_cta(at(where)); }
void proxy_async_generic_acquire_shared_cluster(Where where) {
  core::proxy_async_generic_acquire_shared_cluster(at(where));
}
void proxy_async_generic_release_shared_cta(Where where) {
  core::proxy_async_generic_release_shared_cta(at(where));
}
void proxy_tensormap_release(std::string_view scope, Where where) {
  core::proxy_tensormap_release(at(where), scope);
}
void proxy_tensormap_acquire(const Reg& map, std::string_view scope, Where where) {
  core::proxy_tensormap_acquire(at(where), map, scope);
}
void mbarrier_init(Where where) { core::mbarrier_init(at(where)); }
void acq_rel(std::string_view scope, Where where) { core::acq_rel(at(where), scope); }
void sc(std::string_view scope, Where where) { core::sc(at(where), scope); }
}  // namespace fence

void setmaxnreg(std::int64_t count, bool increase, Where where) {
  build::fence::setmaxnreg(at(where), count, increase);
}

namespace cluster {
void arrive(bool aligned, Where where) { build::cluster::arrive(at(where), aligned); }
void wait(bool aligned, Where where) { build::cluster::wait(at(where), aligned); }
void sync(bool aligned, Where where) { build::cluster::sync(at(where), aligned); }
Reg rank(Where where) { return build::cluster::rank(at(where)); }
Reg map_shared(const author::Place& place, const Index& cta, Where where) {
  return build::cluster::map_shared(at(where), place, cta);
}
void arrive_remote(const author::Place& barrier, const Index& cta, const Index& count,
                   const Guard& guard, Where where) {
  build::mbarrier::arrive_remote(at(where), barrier, cta, count, guard);
}
void arrive_multicast(const author::Place& barrier, const Index& mask, const Index& count,
                      Where where) {
  build::cluster::arrive_multicast(at(where), barrier, mask, count);
}
}  // namespace cluster
}  // namespace pyptx::ptx
