// SPDX-License-Identifier: Apache-2.0
#include "pyptx/support/nearest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace pyptx::support {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Nearest, EditDistance) {
  EXPECT_EQ(edit_distance("global", "globl"), 1U);
  EXPECT_EQ(edit_distance("", "f32"), 3U);
  EXPECT_EQ(edit_distance("f16", "bf16"), 1U);
}

TEST(Nearest, TheFewestEditsComeFirstThenWhatBeginsAlike) {
  const std::vector<std::string> known{"sm_75", "sm_90", "sm_90a", "sm_100a", "sm_35"};
  EXPECT_THAT(nearest("sm90a", known), ElementsAre("sm_90a", "sm_90"));
  EXPECT_THAT(nearest("sm_95", known), ElementsAre("sm_90", "sm_75", "sm_35"));
}

TEST(Nearest, NothingIsNearToAnotherWord) {
  const std::vector<std::string> known{"cache", "tile"};
  EXPECT_THAT(nearest("cahce", known), ElementsAre("cache"));
  EXPECT_THAT(nearest("accumulator", known), IsEmpty());
  EXPECT_THAT(nearest("", known), IsEmpty());
  EXPECT_THAT(nearest("x", std::vector<std::string>{"y"}), IsEmpty());
  EXPECT_THAT(nearest(std::string(100000, 'x'), known), IsEmpty());
}

TEST(Nearest, ANameIsSuggestedOnce) {
  const std::vector<std::string> known{"row", "row"};
  EXPECT_THAT(nearest("rows", known), ElementsAre("row"));
}

}  // namespace
}  // namespace pyptx::support
