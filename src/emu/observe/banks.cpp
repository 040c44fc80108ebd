// SPDX-License-Identifier: Apache-2.0
//
// See banks.h.
#include "observe/banks.h"

#include <algorithm>
#include <array>
#include <vector>

namespace pyptx::emu {
namespace {

constexpr u32 kBanks = 32;
constexpr u32 kWord = 4;
constexpr u32 kSector = 32;

/// The most different words of one bank.
u64 deepest_bank(std::vector<u64>& words) {
  std::ranges::sort(words);
  words.erase(std::ranges::unique(words).begin(), words.end());
  std::array<u64, kBanks> depth{};
  u64 most = 0;
  for (const u64 word : words) most = std::max(most, ++depth[word % kBanks]);
  return most;
}

}  // namespace

Wavefronts wavefronts(std::span<const u64, kLanes> addresses, u32 mask, u32 bytes) {
  const u32 group = 128 / std::clamp(bytes, 4U, 128U);  // lanes whose words pass the banks at once
  Wavefronts result;
  std::vector<u64> words;
  for (u32 first = 0; first < kLanes; first += group) {
    words.clear();
    for (u32 lane = first; lane < first + group; ++lane) {
      if (((mask >> lane) & 1U) == 0) continue;
      const u64 last = (addresses[lane] + bytes - 1) / kWord;
      for (u64 word = addresses[lane] / kWord; word <= last; ++word) words.push_back(word);
    }
    if (words.empty()) continue;
    result.fewest += 1;
    result.taken += deepest_bank(words);
  }
  return result;
}

u64 sectors(std::span<const u64, kLanes> addresses, u32 mask, u32 bytes) {
  std::vector<u64> touched;
  for (u32 lane = 0; lane < kLanes; ++lane) {
    if (((mask >> lane) & 1U) == 0) continue;
    const u64 last = (addresses[lane] + bytes - 1) / kSector;
    for (u64 sector = addresses[lane] / kSector; sector <= last; ++sector) {
      touched.push_back(sector);
    }
  }
  std::ranges::sort(touched);
  return static_cast<u64>(std::ranges::unique(touched).begin() - touched.begin());
}

}  // namespace pyptx::emu
