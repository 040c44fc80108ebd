// SPDX-License-Identifier: Apache-2.0
//
// mbarrier objects in shared memory and the instructions on them (PTX ISA, "mbarrier"). A phase is
// waited for by its parity; whether a kernel's phases agree is the protocol checker's question,
// not asked here.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "pyptx/build/shared.h"
#include "pyptx/build/tracer.h"

namespace pyptx::build {

/// `count` mbarriers of 8 bytes, one after the other.
struct MbarrierArray {
  SharedPlace place;
  std::uint64_t count = 0;
  std::string name;
};

/// One mbarrier.
struct MbarrierRef {
  SharedPlace place;
  std::string name;
};

namespace mbarrier {

/// The size of an mbarrier.
constexpr std::int64_t kBytes = 8;

/// Allocates mbarriers.
MbarrierArray allocate(Tracer& tracer, std::uint64_t count, std::string_view name = {});
/// The mbarriers at `byte_offset` from `base`, a 32-bit register with a shared address.
MbarrierArray array(Tracer& tracer, Reg base, std::int64_t byte_offset, std::uint64_t count);
/// One of them.
MbarrierRef at(Tracer& tracer, const MbarrierArray& barriers, const Index& index);

/// Initialises for `count` arrivals a phase; inval() ends an mbarrier.
void init(Tracer& tracer, const SharedPlace& barrier, const Index& count, Guard guard = {});
void init_all(Tracer& tracer, const MbarrierArray& barriers, const Index& count, Guard guard = {});
void inval(Tracer& tracer, const SharedPlace& barrier, Guard guard = {});
/// Arrives `count` times; a count other than 1 needs sm_90.
void arrive(Tracer& tracer, const SharedPlace& barrier, const Index& count = 1, Guard guard = {});
/// Arrives, and gives the 64-bit state for try_wait without parity.
Reg arrive_state(Tracer& tracer, const SharedPlace& barrier, const Index& count = 1,
                 Guard guard = {});
/// Arrives for good: the count of later phases is lower by `count`.
void arrive_drop(Tracer& tracer, const SharedPlace& barrier, const Index& count = 1,
                 Guard guard = {});
/// The arrivals that the phase of `state` was waiting for.
Reg pending_count(Tracer& tracer, Reg state, Guard guard = {});
/// As if `bytes` of the phase had been copied.
void complete_tx(Tracer& tracer, const SharedPlace& barrier, const Index& bytes, Guard guard = {});
void arrive_expect_tx(Tracer& tracer, const SharedPlace& barrier, const Index& bytes,
                      Guard guard = {});
void expect_tx(Tracer& tracer, const SharedPlace& barrier, const Index& bytes, Guard guard = {});
/// Arrives on the same mbarrier of CTA `cta` of the cluster, releasing at cluster scope.
void arrive_remote(Tracer& tracer, const SharedPlace& barrier, const Index& cta,
                   const Index& count = 1, Guard guard = {});
/// The same on each of several mbarriers.
void arrive_remote_all(Tracer& tracer, const MbarrierArray& barriers, const Index& cta,
                       const Index& count = 1, Guard guard = {});

/// A predicate: whether the phase is complete. `phase` is its parity (0, 1 or a 32-bit register);
/// without `parity` it is a 64-bit register with the state an arrive returned.
Reg try_wait(Tracer& tracer, const SharedPlace& barrier, const Index& phase, bool parity = true,
             Guard guard = {});
/// The same without waiting in the hardware (sm_80).
Reg test_wait(Tracer& tracer, const SharedPlace& barrier, const Index& phase, bool parity = true,
              Guard guard = {});
/// Tries until the phase with this parity is complete.
void wait(Tracer& tracer, const SharedPlace& barrier, const Index& phase);

/// A place in a ring of stages: which stage, and the parity of the round.
struct Pipeline {
  std::uint64_t stages = 0;
  Reg stage;
  Reg phase;
};
/// Registers given are used as they are; numbers start fresh ones.
Pipeline pipeline(Tracer& tracer, std::uint64_t stages, const Index& cursor = 0,
                  const Index& phase = 0);
/// Moves on to the next stage; past the last one the parity turns.
void advance(Tracer& tracer, const Pipeline& ring);

}  // namespace mbarrier
}  // namespace pyptx::build
