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
  EXPECT_FALSE(occupancy("sm_107a", 16, 0, 32));
  EXPECT_FALSE(occupancy("compute_90", 16, 0, 32));
  EXPECT_FALSE(occupancy("sm_90a", 16, 0, 0));
}

TEST(Multiprocessor, ACtaHasLessThanAll) {
  EXPECT_EQ(multiprocessor("sm_90a")->shared_of_cta(), 227U << 10);
  EXPECT_EQ(multiprocessor("sm_75")->shared_of_cta(), 64U << 10);
  EXPECT_FALSE(multiprocessor("sm_999"));
}

}  // namespace
}  // namespace pyptx::driver
