// SPDX-License-Identifier: Apache-2.0
//
// Wavefronts of shared memory and sectors of global memory that the addresses of a warp need. The
// models are told in pyptx/emu/counters.h.
#pragma once

#include <span>

#include "decode/program.h"

namespace pyptx::emu {

struct Wavefronts {
  u64 taken = 0;
  u64 fewest = 0;  // without any bank conflict
};

/// `addresses[lane]` of the lanes in `mask`, `bytes` each.
Wavefronts wavefronts(std::span<const u64, kLanes> addresses, u32 mask, u32 bytes);
u64 sectors(std::span<const u64, kLanes> addresses, u32 mask, u32 bytes);

}  // namespace pyptx::emu
