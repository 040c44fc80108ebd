// SPDX-License-Identifier: Apache-2.0
//
// What barriers hand from those that arrive to those that they let through.
#pragma once

#include "race/clock.h"

namespace pyptx::emu {

/// What an mbarrier's arrivals and transactions hand to those that wait for it.
struct PhaseKnowledge {
  u32 actor = 0;   // of the transactions
  u32 first = 0;   // epochs that earlier lives of this address have used
  u64 phase = 0;   // the last that the detector has seen
  u32 landed = 0;  // epoch of the last copy
  const Inst* copy = nullptr;
  Knowledge arrived;   // in the current phase
  Knowledge finished;  // in the phases before
};

/// What arrivals at a barrier hand to those that it lets through. An early one may be at the next
/// generation before a late one has left this one.
struct BarrierKnowledge {
  u64 generation = 0;  // that `arrived` belongs to
  Knowledge arrived;
  Knowledge finished;  // of the generations before

  void enter(u64 next);
};

/// A wait for an mbarrier that is over.
struct PassedWait {
  u32 rank = 0;     // of the mbarrier's CTA
  u32 barrier = 0;  // its address there
  u64 phase = 0;    // that was under way
  u32 parity = 0;   // that was asked for
  bool is_parity = false;
  bool at_once = false;  // nothing was waited for
  u32 mask = 0;
  const Inst* inst = nullptr;  // null: none yet
};

}  // namespace pyptx::emu
