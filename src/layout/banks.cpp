// SPDX-License-Identifier: Apache-2.0
//
// See banks.h.
#include "pyptx/layout/banks.h"

#include <algorithm>

namespace pyptx::layout {
namespace {

constexpr std::uint32_t kSector = 32;

std::uint32_t group_size(std::uint32_t bytes) { return 128 / std::clamp(bytes, 4U, 128U); }

/// The different units of `unit` bytes that the lanes [first, first + count) touch, ascending.
void collect(LaneAddresses addresses, std::uint32_t mask, std::uint32_t bytes, std::uint32_t first,
             std::uint32_t count, std::uint32_t unit, std::vector<std::uint64_t>& touched) {
  touched.clear();
  for (std::uint32_t lane = first; lane < first + count; ++lane) {
    if (((mask >> lane) & 1U) == 0) continue;
    const std::uint64_t last = (addresses[lane] + bytes - 1) / unit;
    for (std::uint64_t one = addresses[lane] / unit; one <= last; ++one) touched.push_back(one);
  }
  std::ranges::sort(touched);
  touched.erase(std::ranges::unique(touched).begin(), touched.end());
}

/// The most different words of one bank.
std::uint64_t deepest_bank(const std::vector<std::uint64_t>& words) {
  std::array<std::uint64_t, kBanks> depth{};
  std::uint64_t most = 0;
  for (const std::uint64_t word : words) most = std::max(most, ++depth[word % kBanks]);
  return most;
}

}  // namespace

std::uint64_t BankGroup::wavefronts() const {
  std::size_t most = 0;
  for (const auto& bank : words) most = std::max(most, bank.size());
  return most;
}

std::vector<BankGroup> bank_groups(LaneAddresses addresses, std::uint32_t mask,
                                   std::uint32_t bytes) {
  const std::uint32_t size = group_size(bytes);
  std::vector<BankGroup> groups;
  std::vector<std::uint64_t> words;
  for (std::uint32_t first = 0; first < kWarpLanes; first += size) {
    collect(addresses, mask, bytes, first, size, kBankBytes, words);
    if (words.empty()) continue;
    BankGroup& group = groups.emplace_back();
    group.first_lane = first;
    group.lanes = size;
    for (const std::uint64_t word : words) group.words[word % kBanks].push_back(word);
  }
  return groups;
}

Wavefronts wavefronts(LaneAddresses addresses, std::uint32_t mask, std::uint32_t bytes,
                      std::array<std::uint64_t, kBanks>* banks) {
  const std::uint32_t size = group_size(bytes);
  Wavefronts result;
  std::vector<std::uint64_t> words;
  for (std::uint32_t first = 0; first < kWarpLanes; first += size) {
    collect(addresses, mask, bytes, first, size, kBankBytes, words);
    if (words.empty()) continue;
    result.fewest += 1;
    result.taken += deepest_bank(words);
    if (banks == nullptr) continue;
    for (const std::uint64_t word : words) ++(*banks)[word % kBanks];
  }
  return result;
}

std::uint64_t sectors(LaneAddresses addresses, std::uint32_t mask, std::uint32_t bytes) {
  std::vector<std::uint64_t> touched;
  collect(addresses, mask, bytes, 0, kWarpLanes, kSector, touched);
  return touched.size();
}

}  // namespace pyptx::layout
