// SPDX-License-Identifier: Apache-2.0
#include "pyptx/author/async.h"

#include <span>

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

namespace bar {
void sync(const build::Value& id, std::optional<build::Value> count, Where where) {
  build::bar_sync(at(where), id, count);
}
void arrive(const build::Value& id, const build::Value& count, Where where) {
  build::bar_arrive(at(where), id, count);
}
}  // namespace bar

namespace fence {
void proxy_async(Where where) { build::fence::proxy_async(at(where)); }
void proxy_async_shared_cta(Where where) { build::fence::proxy_async_shared_cta(at(where)); }
void mbarrier_init(Where where) { build::fence::mbarrier_init(at(where)); }
}  // namespace fence

void setmaxnreg(std::int64_t count, bool increase, Where where) {
  build::fence::setmaxnreg(at(where), count, increase);
}

namespace mbarrier {
void init(const MbarrierRef& bar, const Index& count, Where where) {
  build::mbarrier::init(at(where), bar.place, count);
}
void inval(const MbarrierRef& bar, Where where) { build::mbarrier::inval(at(where), bar.place); }
void arrive(const MbarrierRef& bar, const Index& count, const Guard& guard, Where where) {
  build::mbarrier::arrive(at(where), bar.place, count, guard);
}
void arrive_expect_tx(const MbarrierRef& bar, const Index& bytes, const Guard& guard, Where where) {
  build::mbarrier::arrive_expect_tx(at(where), bar.place, bytes, guard);
}
void expect_tx(const MbarrierRef& bar, const Index& bytes, const Guard& guard, Where where) {
  build::mbarrier::expect_tx(at(where), bar.place, bytes, guard);
}
Reg try_wait(const MbarrierRef& bar, const Index& phase, bool parity, Where where) {
  return build::mbarrier::try_wait(at(where), bar.place, phase, parity);
}
void wait(const MbarrierRef& bar, const Index& phase, Where where) {
  build::mbarrier::wait(at(where), bar.place, phase);
}
}  // namespace mbarrier

void Pipeline::advance(Where where) const { build::mbarrier::advance(at(where), ring); }

Pipeline pipeline(std::uint64_t stages, const Index& cursor, const Index& phase, Where where) {
  return {build::mbarrier::pipeline(at(where), stages, cursor, phase)};
}

namespace tma {
void load(const build::SharedView& destination, const Reg& map,
          std::initializer_list<Index> coordinates, const MbarrierRef& bar,
          const build::tma::LoadOptions& options, Where where) {
  const std::span all(coordinates.begin(), coordinates.size());
  build::tma::load(at(where), all.size(), destination.whole(), map, all, bar.place, options);
}
void store(const Reg& map, std::initializer_list<Index> coordinates,
           const build::SharedView& source, const Guard& guard, Where where) {
  const std::span all(coordinates.begin(), coordinates.size());
  build::tma::store(at(where), all.size(), map, all, source.whole(), {guard});
}
void commit_group(Where where) { build::tma::commit_group(at(where)); }
void wait_group(std::int64_t pending, bool read, Where where) {
  build::tma::wait_group(at(where), pending, read);
}
}  // namespace tma

namespace wgmma {
void mma_async(const MmaArguments& arguments, Where where) {
  build::wgmma::mma_async(at(where), arguments);
}
void fence(Where where) { build::wgmma::fence(at(where)); }
void commit_group(Where where) { build::wgmma::commit_group(at(where)); }
void wait_group(std::int64_t pending, Where where) { build::wgmma::wait_group(at(where), pending); }
}  // namespace wgmma

namespace cluster {
void arrive(bool aligned, Where where) { build::cluster::arrive(at(where), aligned); }
void wait(bool aligned, Where where) { build::cluster::wait(at(where), aligned); }
void sync(bool aligned, Where where) { build::cluster::sync(at(where), aligned); }
Reg rank(Where where) { return build::cluster::rank(at(where)); }
}  // namespace cluster
}  // namespace pyptx::ptx
