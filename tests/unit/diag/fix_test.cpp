// SPDX-License-Identifier: Apache-2.0
#include "pyptx/diag/fix.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace pyptx::diag {
namespace {

class Fix : public ::testing::Test {
 protected:
  Fix() { table_.set_text("a.ptx", "ad.s32 a, b, c;"); }

  FixIt at(std::uint32_t begin, std::uint32_t end, std::string replacement) {
    FixIt fixit;
    fixit.replacement = std::move(replacement);
    fixit.loc = table_.text(begin, end);
    return fixit;
  }

  LocationTable table_;
};

TEST_F(Fix, ReplacesInTheOrderOfTheText) {
  const std::vector<FixIt> fixits{at(7, 8, "x"), at(0, 2, "add"), at(14, 14, ", d")};
  const Fixed fixed = apply_fixits(table_, fixits);
  EXPECT_EQ(fixed.text, "add.s32 x, b, c, d;");
  EXPECT_EQ(fixed.applied, 3U);
  EXPECT_EQ(fixed.skipped, 0U);
}

TEST_F(Fix, OfTwoThatOverlapOneIsTaken) {
  const std::vector<FixIt> fixits{at(0, 2, "and"), at(0, 6, "add.u32"), at(0, 6, "abs.s32"),
                                  at(3, 6, "b32")};
  const Fixed fixed = apply_fixits(table_, fixits);
  EXPECT_EQ(fixed.text, "add.u32 a, b, c;");
  EXPECT_EQ(fixed.applied, 1U);
  EXPECT_EQ(fixed.skipped, 3U);
}

TEST_F(Fix, AdviceWithoutAPlaceChangesNothing) {
  const std::vector<FixIt> fixits{{"add", "advice"}};
  const Fixed fixed = apply_fixits(table_, fixits);
  EXPECT_EQ(fixed.text, table_.text());
  EXPECT_EQ(fixed.skipped, 1U);
}

TEST_F(Fix, ChoosesTheFirstWithAPlaceAndOnRequestOnlyTheCertain) {
  Diagnostic one(Kind::UnknownOpcode, {"ad"});
  one->fixits = {{"advice", "no place"}, at(0, 2, "add"), at(0, 2, "and")};
  Diagnostic two(Kind::UnknownOpcode, {"a"});
  two->fixits = {at(7, 8, "x"), at(7, 8, "y")};
  two->fixits[1].is_certain = true;
  const Diagnostics both{one, two};
  const auto replacements = [](const std::vector<FixIt>& fixits) {
    std::string text;
    for (const FixIt& fixit : fixits) text += fixit.replacement + " ";
    return text;
  };
  EXPECT_EQ(replacements(chosen_fixits(both, false)), "add x ");
  EXPECT_EQ(replacements(chosen_fixits(both, true)), "y ");
}

}  // namespace
}  // namespace pyptx::diag
