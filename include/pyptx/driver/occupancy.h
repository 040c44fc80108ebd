// SPDX-License-Identifier: Apache-2.0
//
// How many CTAs of a kernel run on one multiprocessor at once. What a multiprocessor holds is in
// isa/limits.h; the arithmetic is that of NVIDIA's cuda_occupancy.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace pyptx::driver {

/// What keeps a multiprocessor from holding more CTAs.
enum class OccupancyLimit : std::uint8_t { Warps, Ctas, Registers, SharedMemory, Barriers };
std::string_view text(OccupancyLimit limit);

/// How many CTAs run at once, and what keeps others out.
struct Occupancy {
  std::uint32_t ctas = 0;
  std::uint32_t warps = 0;
  std::uint32_t max_warps = 0;
  OccupancyLimit limited_by{};
};

/// CTAs of `threads` threads with so many registers per thread, bytes of shared memory and barriers
/// per CTA. None for a target ("sm_90a") that is not known, or where a CTA has no threads.
std::optional<Occupancy> occupancy(std::string_view target, std::uint32_t registers,
                                   std::uint64_t shared, std::uint32_t threads,
                                   std::uint32_t barriers = 0);

}  // namespace pyptx::driver
