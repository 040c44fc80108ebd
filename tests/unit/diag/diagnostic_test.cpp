// SPDX-License-Identifier: Apache-2.0
#include "pyptx/diag/diagnostic.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <type_traits>
#include <utility>

namespace pyptx::diag {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Every function that may refuse has room for one, and every finding of a list is one.
static_assert(sizeof(Diagnostic) <= 48);
static_assert(sizeof(Status) <= 16);
static_assert(std::is_nothrow_move_constructible_v<Diagnostic>);
static_assert(std::is_nothrow_move_assignable_v<Diagnostic>);

Diagnostic finding() {
  return Diagnostic(Kind::LabelPlacedTwice, {"L"}).at(Loc{7}).note("a note").see("an-anchor");
}

TEST(Diagnostic, a_copy_is_another) {
  Diagnostic one = finding();
  Diagnostic two = one;
  two->arguments[0] = "M";
  two->notes.clear();
  two.kind = Kind::BadPlan;
  EXPECT_EQ(one.kind, Kind::LabelPlacedTwice);
  EXPECT_THAT(one->arguments, ElementsAre("L"));
  EXPECT_THAT(one->notes, ElementsAre("a note"));
  one = two;
  two->arguments[0] = "N";
  EXPECT_THAT(one->arguments, ElementsAre("M"));
  EXPECT_EQ(one->manual, "an-anchor");
  EXPECT_EQ(one.loc, Loc{7});
  one = *&one;
  EXPECT_THAT(one->arguments, ElementsAre("M"));
}

TEST(Diagnostic, one_that_was_moved_from_can_be_copied_and_set) {
  Diagnostic from = finding();
  Diagnostic to = std::move(from);
  EXPECT_THAT(to->notes, ElementsAre("a note"));
  const Diagnostic copy = from;  // NOLINT(bugprone-use-after-move)
  EXPECT_EQ(copy.operator->(), nullptr);
  from = to;
  EXPECT_THAT(from->arguments, ElementsAre("L"));
}

TEST(Diagnostic, a_new_one_tells_nothing) {
  const Diagnostic none;
  EXPECT_THAT(none->arguments, IsEmpty());
  EXPECT_THAT(none->labels, IsEmpty());
  EXPECT_FALSE(none->place);
  EXPECT_TRUE(none->needed.is_empty());
}

}  // namespace
}  // namespace pyptx::diag
