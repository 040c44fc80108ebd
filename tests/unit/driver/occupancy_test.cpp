// SPDX-License-Identifier: Apache-2.0
#include "pyptx/driver/occupancy.h"

#include <gtest/gtest.h>

namespace pyptx::driver {
namespace {

TEST(Occupancy, RegistersBoundWholeCtas) {
  // 90 registers are 96 after rounding to 256 a warp: five warps to a partition, 20 together.
  const auto found = occupancy("sm_90a", 90, 0, 384);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->ctas, 1U);
  EXPECT_EQ(found->warps, 12U);
  EXPECT_EQ(found->max_warps, 64U);
  EXPECT_EQ(text(found->limited_by), "registers");
}

TEST(Occupancy, TheSystemsSharedMemoryCounts) {
  // Twice 81 KiB fit into 164, twice 82 KiB and the reserved ones do not.
  EXPECT_EQ(occupancy("sm_80", 32, 81 << 10, 128)->ctas, 2U);
  const auto found = occupancy("sm_80", 32, 82 << 10, 128);
  EXPECT_EQ(found->ctas, 1U);
  EXPECT_EQ(text(found->limited_by), "shared memory");
}

TEST(Occupancy, SmallCtasAreBoundByTheirNumber) {
  const auto found = occupancy("sm_90a", 16, 0, 32);
  EXPECT_EQ(found->ctas, 32U);
  EXPECT_EQ(text(found->limited_by), "CTAs");
  EXPECT_EQ(text(occupancy("sm_90a", 16, 0, 1024)->limited_by), "warps");
}

TEST(Occupancy, NothingIsSaidOfWhatIsNotKnown) {
  EXPECT_FALSE(occupancy("sm_999", 16, 0, 32));
  EXPECT_FALSE(occupancy("compute_90", 16, 0, 32));
  EXPECT_FALSE(occupancy("sm_90a", 16, 0, 0));
}

TEST(Occupancy, BarriersAreShared) {
  // 64 barriers of sm_100, 32 of sm_103; those of sm_89 are not counted.
  EXPECT_EQ(occupancy("sm_100a", 16, 0, 32, 8)->ctas, 8U);
  const auto found = occupancy("sm_103a", 16, 0, 32, 8);
  EXPECT_EQ(found->ctas, 4U);
  EXPECT_EQ(text(found->limited_by), "barriers");
  EXPECT_EQ(occupancy("sm_89", 16, 0, 32, 16)->ctas, 24U);
}

TEST(Occupancy, MoreSharedMemoryThanACtaCanHave) {
  EXPECT_EQ(occupancy("sm_107a", 16, 227 << 10, 32)->ctas, 1U);
  EXPECT_EQ(occupancy("sm_107a", 16, (227 << 10) + 1, 32)->ctas, 0U);
}

}  // namespace
}  // namespace pyptx::driver
