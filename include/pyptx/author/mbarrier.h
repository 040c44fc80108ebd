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
/// Initialises it for `count` arrivals a phase.
void init(const Place& bar, const Index& count, const Guard& guard = {},
          Where where = Where::current());
/// Initialises each of them for `count` arrivals a phase.
void init_all(const Mbarriers& bars, const Index& count, const Guard& guard = {},
              Where where = Where::current());
/// Ends the mbarrier: its memory may be used again.
void inval(const Place& bar, const Guard& guard = {}, Where where = Where::current());
/// Arrives `count` times.
void arrive(const Place& bar, const Index& count = 1, const Guard& guard = {},
            Where where = Where::current());
/// Arrives, and gives the 64-bit state for try_wait without parity.
Reg arrive_state(const Place& bar, const Index& count = 1, const Guard& guard = {},
                 Where where = Where::current());
/// Arrives and leaves: later phases wait for `count` arrivals fewer.
void arrive_drop(const Place& bar, const Index& count = 1, const Guard& guard = {},
                 Where where = Where::current());
/// Arrives once and expects that many bytes more.
void arrive_expect_tx(const Place& bar, const Index& bytes, const Guard& guard = {},
                      Where where = Where::current());
/// Arrives `count` times on the same mbarrier of CTA `cta` of the cluster.
void arrive_remote(const Place& bar, const Index& cta, const Index& count = 1,
                   const Guard& guard = {}, Where where = Where::current());
/// The same on each of several mbarriers.
void arrive_remote_all(const Mbarriers& bars, const Index& cta, const Index& count = 1,
                       const Guard& guard = {}, Where where = Where::current());
/// Expects that many bytes more in this phase.
void expect_tx(const Place& bar, const Index& bytes, const Guard& guard = {},
               Where where = Where::current());
/// Counts bytes as arrived, without a copy.
void complete_tx(const Place& bar, const Index& bytes, const Guard& guard = {},
                 Where where = Where::current());
/// The arrivals that were missing when arrive_state() gave `state`.
Reg pending_count(const Reg& state, const Guard& guard = {}, Where where = Where::current());
/// A predicate: whether the phase is complete. `phase` is its parity, or without `parity` the state
/// that arrive_state() gave. The hardware may wait for a while.
Reg try_wait(const Place& bar, const Index& phase, bool parity = true, const Guard& guard = {},
             Where where = Where::current());
/// The same, and never waits in the hardware.
Reg test_wait(const Place& bar, const Index& phase, bool parity = true, const Guard& guard = {},
              Where where = Where::current());
/// Tries until the phase of this parity is complete.
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
/// A ring of `stages`, at stage `cursor` with parity `phase`.
Pipeline pipeline(std::uint64_t stages, const Index& cursor = 0, const Index& phase = 0,
                  Where where = Where::current());

}  // namespace pyptx::ptx
