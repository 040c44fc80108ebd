// SPDX-License-Identifier: Apache-2.0
//
// Warp and CTA helpers, mbarriers, pipelines, bulk copies, wgmma and clusters of pyptx::ptx: the
// functions of pyptx/build for the kernel being written on this thread.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <source_location>

#include "pyptx/author/smem.h"
#include "pyptx/build/operators.h"
#include "pyptx/build/tma.h"
#include "pyptx/build/wgmma.h"

namespace pyptx::ptx {

using Where = std::source_location;

namespace warp {
/// In place, by butterfly shuffles over groups of `width` lanes.
Reg reduce_sum(const Reg& value, std::int64_t width = 32, Where where = Where::current());
Reg reduce_max(const Reg& value, std::int64_t width = 32, Where where = Where::current());
Reg reduce_min(const Reg& value, std::int64_t width = 32, Where where = Where::current());
}  // namespace warp

namespace bar {
void sync(const build::Value& id = 0, std::optional<build::Value> count = {},
          Where where = Where::current());
void arrive(const build::Value& id, const build::Value& count, Where where = Where::current());
}  // namespace bar

namespace fence {
void proxy_async(Where where = Where::current());
void proxy_async_shared_cta(Where where = Where::current());
void mbarrier_init(Where where = Where::current());
}  // namespace fence

void setmaxnreg(std::int64_t count, bool increase, Where where = Where::current());

namespace mbarrier {
void init(const MbarrierRef& bar, const Index& count, Where where = Where::current());
void inval(const MbarrierRef& bar, Where where = Where::current());
void arrive(const MbarrierRef& bar, const Index& count = 1, const Guard& guard = {},
            Where where = Where::current());
void arrive_expect_tx(const MbarrierRef& bar, const Index& bytes, const Guard& guard = {},
                      Where where = Where::current());
void expect_tx(const MbarrierRef& bar, const Index& bytes, const Guard& guard = {},
               Where where = Where::current());
Reg try_wait(const MbarrierRef& bar, const Index& phase, bool parity = true,
             Where where = Where::current());
void wait(const MbarrierRef& bar, const Index& phase, Where where = Where::current());
}  // namespace mbarrier

/// A place in a ring of stages: which stage, and the parity of the round.
struct Pipeline {
  build::mbarrier::Pipeline ring;
  Reg stage() const { return ring.stage; }
  Reg phase() const { return ring.phase; }
  void advance(Where where = Where::current()) const;
};
Pipeline pipeline(std::uint64_t stages, const Index& cursor = 0, const Index& phase = 0,
                  Where where = Where::current());

namespace tma {
/// The box of `map` at `coordinates`, innermost first, into shared memory; completes on `bar`.
void load(const build::SharedView& destination, const Reg& map,
          std::initializer_list<Index> coordinates, const MbarrierRef& bar,
          const build::tma::LoadOptions& options = {}, Where where = Where::current());
void store(const Reg& map, std::initializer_list<Index> coordinates,
           const build::SharedView& source, const Guard& guard = {},
           Where where = Where::current());
void commit_group(Where where = Where::current());
void wait_group(std::int64_t pending, bool read = false, Where where = Where::current());
}  // namespace tma

namespace wgmma {
using build::wgmma::MmaArguments;
void mma_async(const MmaArguments& arguments, Where where = Where::current());
void fence(Where where = Where::current());
void commit_group(Where where = Where::current());
void wait_group(std::int64_t pending, Where where = Where::current());
}  // namespace wgmma

namespace cluster {
void arrive(bool aligned = false, Where where = Where::current());
void wait(bool aligned = false, Where where = Where::current());
void sync(bool aligned = false, Where where = Where::current());
Reg rank(Where where = Where::current());
}  // namespace cluster
}  // namespace pyptx::ptx
