// SPDX-License-Identifier: Apache-2.0
//
// Instructions that the lanes of a member mask run together (.sync): operand e of the instruction
// is the mask.
#pragma once

#include "sem/lanes.h"

namespace pyptx::emu {

/// Calls body(lanes) for the lanes of `mask` that name the same member mask: a rendezvous each.
template <typename F>
void each_rendezvous(Warp& warp, const Inst& inst, u32 mask, F&& body) {
  const u32* members = warp.lanes32(inst.e);
  while (mask != 0) {
    const u32 member = members[Warp::first_lane(mask)];
    u32 same = 0;
    each_active(mask, [&](u32 i) { same |= (members[i] == member ? 1U : 0U) << i; });
    body(same);
    mask &= ~same;
  }
}

/// Next when every rendezvous of the executing lanes is complete.
Step gather(Warp& warp, const Inst& inst, u32 mask);

}  // namespace pyptx::emu
