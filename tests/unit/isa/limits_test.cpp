// SPDX-License-Identifier: Apache-2.0
#include "pyptx/isa/limits.h"

#include <gtest/gtest.h>

namespace pyptx::isa {
namespace {

TEST(Limits, EverySuffixOfATargetHasTheSame) {
  for (const Target target : all_targets()) {
    const auto found = multiprocessor(target);
    EXPECT_EQ(found.has_value(), multiprocessor({target.sm, 0}).has_value()) << target.text();
    if (!found) continue;
    EXPECT_LE(found->cluster_ctas, kClusterCtas);
    EXPECT_EQ(found->cluster_ctas > 1, target.sm >= 90) << target.text();
    EXPECT_GE(found->shared_of_cta(), static_shared_bytes(target));
  }
}

TEST(Limits, StaticSharedMemoryIsThatOfPtxas) {
  EXPECT_EQ(static_shared_bytes({90, 0}), 48U << 10);
  EXPECT_EQ(static_shared_bytes({100, 'f'}), 48U << 10);
  EXPECT_EQ(static_shared_bytes({90, 'a'}), 227U << 10);
  EXPECT_EQ(static_shared_bytes({107, 'a'}), 227U << 10);
  EXPECT_EQ(static_shared_bytes({121, 'a'}), 99U << 10);
}

TEST(Limits, WhatIsPublished) {
  EXPECT_EQ(multiprocessor({90, 'a'})->shared_of_cta(), 227U << 10);
  EXPECT_EQ(multiprocessor({75, 0})->shared_of_cta(), 64U << 10);
  EXPECT_EQ(multiprocessor({120, 'f'})->warps, 48U);
  EXPECT_FALSE(multiprocessor({107, 'a'}));
  EXPECT_FALSE(multiprocessor({999, 0}));
}

}  // namespace
}  // namespace pyptx::isa
