// SPDX-License-Identifier: Apache-2.0
#include "pyptx/support/growing_array.h"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <thread>
#include <utility>
#include <vector>

#include "pyptx/support/memory.h"

namespace pyptx::support {
namespace {

using Numbers = GrowingArray<int>;

std::vector<int> as_vector(const Numbers& numbers) { return {numbers.begin(), numbers.end()}; }

TEST(GrowingArray, KeepsWhatItHoldsWhileItGrows) {
  Numbers numbers;
  for (int i = 0; i < 1'000'000; ++i) numbers.push_back(i);
  ASSERT_EQ(numbers.size(), 1'000'000U);
  for (int i = 0; i < 1'000'000; i += 777) EXPECT_EQ(numbers[static_cast<std::size_t>(i)], i);
  EXPECT_EQ(numbers.back(), 999'999);
}

TEST(GrowingArray, InsertsErasesAndResizes) {
  Numbers numbers{1, 2, 5};
  const std::array between{3, 4};
  numbers.insert(numbers.begin() + 2, between);
  numbers.insert(numbers.begin(), 0);
  EXPECT_EQ(as_vector(numbers), (std::vector{0, 1, 2, 3, 4, 5}));
  numbers.erase(numbers.begin() + 1, numbers.begin() + 3);
  EXPECT_EQ(as_vector(numbers), (std::vector{0, 3, 4, 5}));
  numbers.resize(2);
  numbers.resize(4);  // what was there does not come back
  EXPECT_EQ(as_vector(numbers), (std::vector{0, 3, 0, 0}));
}

TEST(GrowingArray, CopiesAreApartAndMovesLeaveNothing) {
  Numbers numbers{1, 2};
  Numbers copy = numbers;
  copy[0] = 7;
  EXPECT_EQ(numbers[0], 1);
  const Numbers moved = std::move(numbers);
  EXPECT_EQ(as_vector(moved), (std::vector{1, 2}));
  copy = moved;
  EXPECT_EQ(as_vector(copy), as_vector(moved));
}

TEST(Memory, ALargeBlockComesBack) {
  std::thread([] {
    Memory block = grow_memory({}, kKeptBlock);
    release_memory(block);
    EXPECT_EQ(kept_memory(), block.bytes);
    const Memory again = grow_memory({}, kKeptBlock);
    EXPECT_EQ(again.data, block.data);
    EXPECT_EQ(kept_memory(), 0U);
    release_memory(again);
  }).join();
}

TEST(Memory, ASmallBlockIsNotKept) {
  std::thread([] {
    release_memory(grow_memory({}, 1000));
    EXPECT_EQ(kept_memory(), 0U);
  }).join();
}

TEST(Memory, AThreadKeepsNoMoreThanItsBound) {
  std::thread([] {
    std::vector<Memory> blocks;
    for (int i = 0; i < 100; ++i) blocks.push_back(grow_memory({}, kKeptPerThread / 10));
    blocks.push_back(grow_memory({}, kKeptPerThread + 1));
    for (const Memory& block : blocks) release_memory(block);
    EXPECT_LE(kept_memory(), kKeptPerThread);
    EXPECT_GT(kept_memory(), 0U);
  }).join();
}

TEST(Memory, ABlockMayEndOnAnotherThread) {
  Numbers numbers;
  numbers.resize(100'000);
  std::thread([taken = std::move(numbers)]() mutable {
    EXPECT_EQ(taken.size(), 100'000U);
    taken = {};
    EXPECT_GT(kept_memory(), 0U);
  }).join();
}

}  // namespace
}  // namespace pyptx::support
