// SPDX-License-Identifier: Apache-2.0
//
// What a multiprocessor, a CTA and a cluster hold, by target, and how many CTAs of a kernel run on
// one multiprocessor at once. The numbers are published (CUDA C++ Programming Guide, "Technical
// Specifications per Compute Capability"); none is asked of a device, so that a kernel is judged
// before there is one.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace pyptx::driver {

/// What one multiprocessor holds at once; shared memory is in bytes.
struct Multiprocessor {
  std::uint32_t warps = 0;
  std::uint32_t ctas = 0;
  std::uint32_t shared = 0;
  std::uint32_t shared_reserved = 0;  // of every CTA, by the system

  /// The most that one CTA can have.
  std::uint32_t shared_of_cta() const { return shared - shared_reserved; }
};

/// Of `target` ("sm_90a"); none where that is not published.
std::optional<Multiprocessor> multiprocessor(std::string_view target);

/// What every target can run: threads of a block in each direction and together, CTAs of a cluster
/// (8 without the opt-in that every launch here makes).
inline constexpr std::array<std::uint32_t, 3> kLargestBlock{1024, 1024, 64};
inline constexpr std::uint32_t kBlockThreads = 1024;
inline constexpr std::uint32_t kClusterCtas = 16;

/// What keeps a multiprocessor from holding more CTAs.
enum class OccupancyLimit : std::uint8_t { Warps, Ctas, Registers, SharedMemory };
std::string_view text(OccupancyLimit limit);

struct Occupancy {
  std::uint32_t ctas = 0;
  std::uint32_t warps = 0;
  std::uint32_t max_warps = 0;
  OccupancyLimit limited_by{};
};

/// CTAs of `threads` threads with so many registers per thread and bytes of shared memory per CTA.
/// None for a target that is not known, or where a CTA has no threads.
std::optional<Occupancy> occupancy(std::string_view target, std::uint32_t registers,
                                   std::uint64_t shared, std::uint32_t threads);

}  // namespace pyptx::driver
