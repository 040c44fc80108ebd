// SPDX-License-Identifier: Apache-2.0
#include "pyptx/support/result.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

namespace pyptx::support {
namespace {

using Text = Result<std::unique_ptr<int>, std::string>;

Text half(int value) {
  if (value % 2 != 0) return Failure{std::string("odd")};
  return std::make_unique<int>(value / 2);
}

TEST(Result, CarriesAMoveOnlyValueOrAnError) {
  Text good = half(8);
  ASSERT_TRUE(good.ok());
  EXPECT_EQ(**good, 4);
  const std::unique_ptr<int> taken = std::move(good).value();
  EXPECT_EQ(*taken, 4);
  const Text bad = half(7);
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error(), "odd");
}

TEST(Result, ASuccessIsSmallAndACopyIsACopy) {
  struct Large {
    char bytes[400] = {};
  };
  using Small = Result<int, Large>;
  static_assert(sizeof(Small) <= 2 * sizeof(void*));
  using Number = Result<int, std::string>;
  const Number good = 3;
  const Number bad = Failure{std::string("odd")};
  Number copy = bad;
  EXPECT_EQ(copy.error(), "odd");
  copy.error() += "er";
  EXPECT_EQ(bad.error(), "odd");
  copy = good;
  EXPECT_EQ(*copy, 3);
  copy = bad;
  EXPECT_EQ(copy.error(), "odd");
}

TEST(Result, AValueOrAnother) {
  using Number = Result<int, std::string>;
  const Number good = 3;
  const Number bad = Failure{std::string("odd")};
  EXPECT_EQ(good.value_or(7), 3);
  EXPECT_EQ(bad.value_or(7), 7);
  EXPECT_EQ(*half(7).value_or(std::make_unique<int>(1)), 1);
}

TEST(Result, StepsFollowEachOther) {
  const auto twice = [](int value) {
    return half(value).and_then([](std::unique_ptr<int>&& by_two) { return half(*by_two); });
  };
  EXPECT_EQ(**twice(8), 2);
  EXPECT_EQ(twice(6).error(), "odd");
  EXPECT_EQ(twice(5).error(), "odd");
}

TEST(ResultDeathTest, AskingForWhatIsNotThereEndsTheProgram) {
  const Result<int, std::string> good = 3;
  const Result<int, std::string> bad = Failure{std::string("odd")};
  EXPECT_DEATH(static_cast<void>(bad.value()), "asked for its value");
  EXPECT_DEATH(static_cast<void>(*bad), "asked for its value");
  EXPECT_DEATH(static_cast<void>(good.error()), "asked for its error");
}

TEST(Result, AnErrorPassesThroughAnotherValueType) {
  const auto outer = [](int value) -> Result<int, std::string> {
    Text inner = half(value);
    if (!inner) return inner.failure();
    return **inner + 1;
  };
  EXPECT_EQ(outer(8).value(), 5);
  EXPECT_EQ(outer(3).error(), "odd");
}

}  // namespace
}  // namespace pyptx::support
