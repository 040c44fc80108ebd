// SPDX-License-Identifier: Apache-2.0
//
// ld and st of the whole warp's lanes at once, where nothing about them is unusual: shared memory
// by 32-bit addresses, global memory by 64-bit ones. What is unusual (another buffer for every
// lane, a bad address, the race detector) goes through `access_lane_by_lane`.
#pragma once

#include "decode/types.h"

namespace pyptx::emu {

/// Any access, lane by lane: kind is the memory type, register_bytes the bytes of a lane, flag2
/// says that it is a load.
Step access_lane_by_lane(Warp& warp, const Inst& inst, u32 mask);

/// The best variant for this processor, of an access whose lanes are as wide as registers of the
/// type; null where there is none.
Handler access_handler(Space space, Ty type, u32 elements, bool is_load);

}  // namespace pyptx::emu
