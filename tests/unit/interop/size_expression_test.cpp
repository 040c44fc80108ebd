// SPDX-License-Identifier: Apache-2.0
//
// Numbers that follow from sizes: their words, their values, and what has none.
#include "pyptx/interop/size_expression.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

namespace pyptx::interop {
namespace {

using diag::Kind;

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

SizeExpression read(std::string_view text) {
  auto found = SizeExpression::from_text(text);
  EXPECT_TRUE(found) << found.error().message();
  return found ? *found : SizeExpression(0);
}

std::int64_t value(std::string_view text, const Sizes& sizes = {}) {
  const auto found = read(text).value(sizes);
  EXPECT_TRUE(found) << found.error().message();
  return found ? *found : -1;
}

TEST(SizeExpressionTest, WordsComeBackAsTheyWere) {
  for (const char* text : {"7", "-3", "M", "// + M 127 128", "? < M 4 - 0 // - 0 M 2 4",
                           "% == M N <= M !=", "* != M 1 % N 8"}) {
    const auto found = SizeExpression::from_text(text);
    if (std::string_view(text).ends_with("!=")) {
      EXPECT_FALSE(found) << text;
    } else {
      EXPECT_EQ(read(text).to_text(), text);
    }
  }
}

TEST(SizeExpressionTest, WhatIsNoExpressionIsRefused) {
  for (const char* text : {"", " ", "+", "+ M", "+ M ", "+ M 1 2", "M ", " M", "+  M 1", "? M 1",
                           "M N", "// + M 127 128 "}) {
    const auto found = SizeExpression::from_text(text);
    ASSERT_FALSE(found) << text;
    EXPECT_EQ(found.error().kind, Kind::SavedKernelBytes);
  }
}

TEST(SizeExpressionTest, ATextThatNestsWithoutEndIsRefused) {
  std::string text;
  for (int i = 0; i < 100000; ++i) text += "+ 1 ";
  EXPECT_TRUE(SizeExpression::from_text("+ 1 1"));
  EXPECT_FALSE(SizeExpression::from_text(text + "1"));
}

TEST(SizeExpressionTest, NumbersDivideAsInPython) {
  EXPECT_EQ(value("// -7 2"), -4);
  EXPECT_EQ(value("% -7 2"), 1);
  EXPECT_EQ(value("// 7 -2"), -4);
  EXPECT_EQ(value("% 7 -2"), -1);
  EXPECT_EQ(value("// 6 -2"), -3);
  EXPECT_EQ(value("% 6 -1"), 0);
  EXPECT_EQ(value("- 0 // - 0 M 128", {{"M", 129}}), 2);
}

TEST(SizeExpressionTest, ComparisonsAndChoices) {
  const Sizes sizes = {{"M", 5}, {"N", 8}};
  EXPECT_EQ(value("< M N", sizes), 1);
  EXPECT_EQ(value("<= N M", sizes), 0);
  EXPECT_EQ(value("== M 5", sizes), 1);
  EXPECT_EQ(value("!= M 5", sizes), 0);
  EXPECT_EQ(value("? < M N M N", sizes), 5);
  EXPECT_EQ(value("? < N M M N", sizes), 8);
  EXPECT_EQ(value("? == M 0 1 // N M", {{"M", 0}, {"N", 8}}), 1);  // the other branch has none
}

TEST(SizeExpressionTest, WhatHasNoValueSaysWhy) {
  const auto kind = [](std::string_view text, const Sizes& sizes) {
    const auto found = read(text).value(sizes);
    EXPECT_FALSE(found) << text;
    return found ? Kind::UnknownOpcode : found.error().kind;
  };
  EXPECT_EQ(kind("+ M K", {{"M", 1}}), Kind::UnknownSize);
  EXPECT_EQ(kind("// 8 M", {{"M", 0}}), Kind::SizeExpression);
  EXPECT_EQ(kind("% 8 M", {{"M", 0}}), Kind::SizeExpression);
  EXPECT_EQ(kind("+ M 1", {{"M", kMost}}), Kind::SizeExpression);
  EXPECT_EQ(kind("- -2 M", {{"M", kMost}}), Kind::SizeExpression);
  EXPECT_EQ(kind("* M M", {{"M", kMost}}), Kind::SizeExpression);
  EXPECT_EQ(kind("// - - 0 M 1 -1", {{"M", kMost}}), Kind::SizeExpression);
}

TEST(SizeExpressionTest, IsWrittenWithOperators) {
  const SizeExpression m = SizeExpression::of("M"), n = SizeExpression::of("N");
  EXPECT_EQ(((m + 127) / 128 * n - m % 2).to_text(), "- * // + M 127 128 N % M 2");
  EXPECT_EQ((m * n + m).dimensions(), (std::vector<std::string>{"M", "N"}));
  EXPECT_EQ(*(m * n + m).value({{"M", 3}, {"N", 4}}), 15);
}

}  // namespace
}  // namespace pyptx::interop
