// SPDX-License-Identifier: Apache-2.0
#include "pyptx/isa/directive.h"

#include <gtest/gtest.h>

namespace pyptx::isa {
namespace {

TEST(Directive, StandsWhereTheTableSays) {
  const DirectiveInfo* info = find_directive("maxntid", DirectivePlace::Entry);
  ASSERT_NE(info, nullptr);
  EXPECT_EQ(info->arguments, DirectiveArguments::Integers);
  EXPECT_EQ(info->minimum, 1);
  EXPECT_EQ(info->maximum, 3);
  EXPECT_EQ(find_directive("maxntid", DirectivePlace::Func), nullptr);
  EXPECT_EQ(find_directive("maxthreads", DirectivePlace::Entry), nullptr);
  EXPECT_TRUE(is_directive("maxntid"));
  EXPECT_FALSE(is_directive("maxthreads"));
}

TEST(Directive, SaysWhatItNeeds) {
  const DirectiveInfo* cluster = find_directive("reqnctapercluster", DirectivePlace::Entry);
  ASSERT_NE(cluster, nullptr);
  EXPECT_EQ(cluster->needs.version, (Version{7, 8}));
  EXPECT_TRUE(cluster->needs.admits({90, 0}));
  EXPECT_FALSE(cluster->needs.admits({80, 0}));
  const DirectiveInfo* gone = find_directive("maxnctapersm", DirectivePlace::Entry);
  ASSERT_NE(gone, nullptr);
  EXPECT_EQ(gone->needs.last, (Version{2, 0}));
}

TEST(Directive, PragmasAndTargetOptions) {
  const PragmaInfo* throughput = find_pragma("mma_throughput");
  ASSERT_NE(throughput, nullptr);
  EXPECT_TRUE(throughput->is_checked);
  EXPECT_FALSE(has(throughput->places, DirectivePlace::Module));
  EXPECT_EQ(find_pragma("unroll"), nullptr);
  ASSERT_NE(find_target_option("texmode_unified"), nullptr);
  EXPECT_EQ(find_target_option("texmode_unified")->group,
            find_target_option("texmode_independent")->group);
  EXPECT_EQ(find_target_option("fast"), nullptr);
}

}  // namespace
}  // namespace pyptx::isa
