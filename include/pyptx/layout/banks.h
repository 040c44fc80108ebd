// SPDX-License-Identifier: Apache-2.0
//
// Banks of shared memory and sectors of global memory that the addresses of a warp need: the models
// that pyptx/emu/counters.h tells of. Addresses are what a pattern is; nothing here is executed.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace pyptx::layout {

/// The banks of shared memory, and who asks them at once.
inline constexpr std::uint32_t kBanks = 32;
inline constexpr std::uint32_t kBankBytes = 4;
inline constexpr std::uint32_t kWarpLanes = 32;

/// Addresses by lane; those of lanes that take no part say nothing.
using LaneAddresses = std::span<const std::uint64_t, kWarpLanes>;

/// What an access takes.
struct Wavefronts {
  std::uint64_t taken = 0;
  std::uint64_t fewest = 0;  // without any bank conflict
};

/// Lanes whose words pass the banks together: all of them where each has up to 4 bytes, 16 with 8
/// bytes, 8 with 16.
struct BankGroup {
  std::uint32_t first_lane = 0;
  std::uint32_t lanes = 0;
  /// The different words (addresses over 4) that each bank has to give.
  std::array<std::vector<std::uint64_t>, kBanks> words;

  /// The most words of one bank.
  std::uint64_t wavefronts() const;
};

/// The groups that the lanes in `mask` make, `bytes` each; groups without lanes are left out.
std::vector<BankGroup> bank_groups(LaneAddresses addresses, std::uint32_t mask,
                                   std::uint32_t bytes);
/// The sums over these groups. Where `words` is given, the different words of each bank are added.
Wavefronts wavefronts(LaneAddresses addresses, std::uint32_t mask, std::uint32_t bytes,
                      std::array<std::uint64_t, kBanks>* words = nullptr);
/// Different sectors of 32 bytes.
std::uint64_t sectors(LaneAddresses addresses, std::uint32_t mask, std::uint32_t bytes);

}  // namespace pyptx::layout
