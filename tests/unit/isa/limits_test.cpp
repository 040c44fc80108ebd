// SPDX-License-Identifier: Apache-2.0
#include "pyptx/isa/limits.h"

#include <gtest/gtest.h>

namespace pyptx::isa {
namespace {

TEST(Limits, EveryTargetHasThem) {
  for (const Target target : all_targets()) {
    const Limits& found = limits(target);
    EXPECT_GT(found.warps, 0U) << target.text();
    EXPECT_GT(found.ctas, 0U) << target.text();
    EXPECT_EQ(found.cluster > 1, target.sm >= 90) << target.text();
    EXPECT_LE(found.static_shared, found.cta_shared) << target.text();
    EXPECT_LE(found.cta_shared + found.shared_reserved, found.shared) << target.text();
    const Limits& plain = limits({target.sm, 0});
    EXPECT_EQ(found.warps, plain.warps) << target.text();
    EXPECT_EQ(found.cta_shared, plain.cta_shared) << target.text();
    EXPECT_LE(found.cta_shared, kLargestLimits.cta_shared) << target.text();
  }
}

TEST(Limits, CodeForOneArchitectureHasMoreStaticSharedMemory) {
  EXPECT_EQ(limits({90, 0}).static_shared, 48U << 10);
  EXPECT_EQ(limits({100, 'f'}).static_shared, 48U << 10);
  EXPECT_EQ(limits({90, 'a'}).static_shared, 227U << 10);
  EXPECT_EQ(limits({107, 'a'}).static_shared, 227U << 10);
  EXPECT_EQ(limits({121, 'a'}).static_shared, 99U << 10);
}

TEST(Limits, RowsDifferFromWhatEveryTargetHas) {
  EXPECT_EQ(limits({75, 0}).cta_shared, 64U << 10);
  EXPECT_EQ(limits({75, 0}).shared_unit, 256U);
  EXPECT_EQ(limits({88, 0}).cta_shared, 99U << 10);
  EXPECT_EQ(limits({107, 0}).warps, 32U);
  EXPECT_EQ(limits({120, 'f'}).warps, 48U);
}

TEST(Limits, ATargetThatTheTableLacksHasTheLargest) {
  EXPECT_EQ(limits({999, 0}).warps, kLargestLimits.warps);
  EXPECT_EQ(limits({999, 0}).cluster, 16U);
}

}  // namespace
}  // namespace pyptx::isa
