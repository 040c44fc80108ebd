// SPDX-License-Identifier: Apache-2.0
#include "pyptx/layout/banks.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>

namespace pyptx::layout {
namespace {

constexpr std::uint32_t kAll = ~0U;

std::array<std::uint64_t, kWarpLanes> every(std::uint64_t step) {
  std::array<std::uint64_t, kWarpLanes> addresses{};
  for (std::uint32_t lane = 0; lane < kWarpLanes; ++lane) addresses[lane] = step * lane;
  return addresses;
}

TEST(Banks, a_word_of_each_bank_is_one_wavefront) {
  const Wavefronts taken = wavefronts(every(4), kAll, 4);
  EXPECT_EQ(taken.taken, 1U);
  EXPECT_EQ(taken.fewest, 1U);
}

TEST(Banks, each_different_word_of_a_bank_is_a_wavefront) {
  for (const std::uint64_t step : {8, 16, 32, 64, 128}) {
    EXPECT_EQ(wavefronts(every(step), kAll, 4).taken, step / 4) << step;
  }
  EXPECT_EQ(wavefronts(every(128), 0xFFU, 4).taken, 8U) << "only lanes that take part";
}

TEST(Banks, the_same_word_costs_nothing) {
  EXPECT_EQ(wavefronts(every(0), kAll, 4).taken, 1U);
  EXPECT_EQ(wavefronts(every(1), kAll, 1).taken, 1U);
}

TEST(Banks, wide_lanes_pass_in_groups) {
  const auto groups = bank_groups(every(16), kAll, 16);
  ASSERT_EQ(groups.size(), 4U);
  for (std::uint32_t i = 0; i < 4; ++i) {
    EXPECT_EQ(groups[i].first_lane, 8 * i);
    EXPECT_EQ(groups[i].lanes, 8U);
    EXPECT_EQ(groups[i].wavefronts(), 1U);
  }
}

TEST(Banks, groups_say_which_words_each_bank_gives) {
  const auto groups = bank_groups(every(64), kAll, 4);
  ASSERT_EQ(groups.size(), 1U);
  EXPECT_EQ(groups[0].wavefronts(), 16U);
  EXPECT_EQ(groups[0].words[0].size(), 16U);
  EXPECT_EQ(groups[0].words[16].size(), 16U);
  EXPECT_EQ(groups[0].words[16][1], 48U);
  EXPECT_TRUE(groups[0].words[1].empty());
}

TEST(Banks, groups_add_up_to_the_wavefronts) {
  std::uint64_t state = 1;
  for (int round = 0; round < 200; ++round) {
    std::array<std::uint64_t, kWarpLanes> addresses{};
    for (auto& address : addresses) {
      state = state * 6364136223846793005ULL + 1442695040888963407ULL;
      address = (state >> 40) % 4096 / 16 * 16;
    }
    for (const std::uint32_t bytes : {1U, 4U, 8U, 16U}) {
      std::uint64_t sum = 0;
      const auto groups = bank_groups(addresses, kAll, bytes);
      for (const BankGroup& group : groups) sum += group.wavefronts();
      const Wavefronts taken = wavefronts(addresses, kAll, bytes);
      EXPECT_EQ(sum, taken.taken);
      EXPECT_EQ(groups.size(), taken.fewest);
    }
  }
}

TEST(Banks, sectors_are_of_32_bytes) {
  EXPECT_EQ(sectors(every(4), kAll, 4), 4U);
  EXPECT_EQ(sectors(every(32), kAll, 4), 32U);
  EXPECT_EQ(sectors(every(0), 0, 4), 0U);
}

}  // namespace
}  // namespace pyptx::layout
