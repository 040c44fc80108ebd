// SPDX-License-Identifier: Apache-2.0
//
// mbarriers and rings of stages of pyptx::ptx. See pyptx/build/mbarrier.h.
#pragma once

#include <cstdint>
#include <source_location>

#include "pyptx/author/smem.h"

namespace pyptx::ptx {

using Where = std::source_location;

namespace mbarrier {
using author::Place;

/// The mbarriers at `byte_offset` from `base`, a 32-bit register with a shared address.
Mbarriers array(const Reg& base, std::int64_t byte_offset, std::uint64_t count,
                Where where = Where::current());
void init(const Place& bar, const Index& count, const Guard& guard = {},
          Where where = Where::current());
void init_all(const Mbarriers& bars, const Index& count, const Guard& guard = {},
              Where where = Where::current());
void inval(const Place& bar, const Guard& guard = {}, Where where = Where::current());
void arrive(const Place& bar, const Index& count = 1, const Guard& guard = {},
            Where where = Where::current());
/// Arrives, and gives the 64-bit state for try_wait without parity.
Reg arrive_state(const Place& bar, const Index& count = 1, const Guard& guard = {},
                 Where where = Where::current());
void arrive_drop(const Place& bar, const Index& count = 1, const Guard& guard = {},
                 Where where = Where::current());
void arrive_expect_tx(const Place& bar, const Index& bytes, const Guard& guard = {},
                      Where where = Where::current());
/// On the same mbarrier of CTA `cta` of the cluster.
void arrive_remote(const Place& bar, const Index& cta, const Index& count = 1,
                   const Guard& guard = {}, Where where = Where::current());
void expect_tx(const Place& bar, const Index& bytes, const Guard& guard = {},
               Where where = Where::current());
void complete_tx(const Place& bar, const Index& bytes, const Guard& guard = {},
                 Where where = Where::current());
Reg pending_count(const Reg& state, const Guard& guard = {}, Where where = Where::current());
/// A predicate: whether the phase is complete. `phase` is its parity, or without `parity` the state
/// that arrive_state() gave. test_wait does not wait in the hardware.
Reg try_wait(const Place& bar, const Index& phase, bool parity = true, const Guard& guard = {},
             Where where = Where::current());
Reg test_wait(const Place& bar, const Index& phase, bool parity = true, const Guard& guard = {},
              Where where = Where::current());
void wait(const Place& bar, const Index& phase, Where where = Where::current());
}  // namespace mbarrier

/// A place in a ring of stages: which stage, and the parity of the round.
class Pipeline {
 public:
  explicit Pipeline(const build::mbarrier::Pipeline& ring)
      : ring_(ring), stage_(ring.stage), phase_(ring.phase) {}
  const Reg& stage() const { return stage_; }
  const Reg& phase() const { return phase_; }
  std::uint64_t stages() const { return ring_.stages; }
  void advance(Where where = Where::current()) const;

 private:
  build::mbarrier::Pipeline ring_;
  Reg stage_;
  Reg phase_;
};
Pipeline pipeline(std::uint64_t stages, const Index& cursor = 0, const Index& phase = 0,
                  Where where = Where::current());

}  // namespace pyptx::ptx
