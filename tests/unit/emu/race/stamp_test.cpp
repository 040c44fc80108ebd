// SPDX-License-Identifier: Apache-2.0
//
// Stamps of words that several lanes share: whose the parts are is known where lanes stand in a
// row.
#include "race/clock.h"

#include <gtest/gtest.h>

namespace pyptx::emu {
namespace {

constexpr u32 kLow = 0b0011;
constexpr u32 kHigh = 0b1100;

Stamp stamp(u32 lane, u32 bytes) { return Stamp::make(1, 1, lane, bytes, 7); }

Stamp join(Stamp stamp, u32 lane, u32 bytes) {
  return Stamp::make(1, 1, stamp.joined(lane, bytes), stamp.bytes() | bytes, 7);
}

TEST(Stamp, HalvesOfARow) {
  for (u32 lane = 0; lane < kLanes; lane += 2) {
    const Stamp both = join(stamp(lane, kLow), lane + 1, kHigh);
    EXPECT_EQ(both.of(kLow).lane(), lane);
    EXPECT_EQ(both.of(kHigh).lane(), lane + 1);
    EXPECT_EQ(both.of(0b0010).lane(), lane);
    EXPECT_EQ(both.of(15).lane(), Stamp::kManyLanes);
    EXPECT_FALSE(both.is_strong() || both.is_atomic());
    EXPECT_EQ(join(both, lane, kLow).bits, both.bits);
  }
}

TEST(Stamp, BytesOfARow) {
  for (u32 lane = 0; lane < kLanes; lane += 4) {
    Stamp all = stamp(lane, 1);
    for (u32 i = 1; i < 4; ++i) all = join(all, lane + i, 1U << i);
    for (u32 i = 0; i < 4; ++i) EXPECT_EQ(all.of(1U << i).lane(), lane + i);
    EXPECT_EQ(all.of(kLow).lane(), Stamp::kManyLanes);
  }
}

TEST(Stamp, OtherParts) {
  EXPECT_EQ(join(stamp(5, kLow), 6, kHigh).lane(), Stamp::kParts) << "a row that begins at a half";
  EXPECT_EQ(join(stamp(4, kLow), 4, kHigh).lane(), 4U);
  EXPECT_EQ(join(stamp(4, kLow), 5, kLow).lane(), Stamp::kManyLanes) << "the same bytes";
  EXPECT_EQ(join(stamp(Stamp::kManyLanes, 15), 5, kLow).lane(), Stamp::kManyLanes);
  EXPECT_EQ(join(join(stamp(4, kLow), 5, kHigh), 9, kHigh).lane(), Stamp::kParts);
  EXPECT_EQ(join(stamp(4, kLow), Stamp::kAtomic, kLow).lane(), Stamp::kParts);
  EXPECT_EQ(join(stamp(Stamp::kStrong, kLow), 4, kHigh).lane(), Stamp::kParts);
  EXPECT_EQ(stamp(Stamp::kStrong, 15).of(kLow).lane(), Stamp::kStrong);
}

}  // namespace
}  // namespace pyptx::emu
