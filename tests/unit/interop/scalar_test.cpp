// SPDX-License-Identifier: Apache-2.0
#include "pyptx/interop/scalar.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "golden.h"

namespace pyptx::interop {
namespace {

using testing::Optional;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

std::optional<std::uint64_t> bits(std::string_view type, const Number& number) {
  const ScalarType* found = find_scalar_type(type);
  EXPECT_NE(found, nullptr) << type;
  return number.bits(*found);
}

TEST(ScalarType, HasEveryTypeOfAParameter) {
  EXPECT_EQ(scalar_types().size(), 17U);
  for (const ScalarType& type : scalar_types()) EXPECT_EQ(find_scalar_type(type.name), &type);
  EXPECT_EQ(find_scalar_type("f16")->size, 2U);
  EXPECT_EQ(find_scalar_type("tf32")->size, 4U);
  for (const char* name : {"", "f8", "pred", "u128", "F32"}) {
    EXPECT_EQ(find_scalar_type(name), nullptr) << name;
  }
}

TEST(Number, IntegersFitOrAreRefused) {
  EXPECT_THAT(bits("u8", 255), Optional(0xffU));
  EXPECT_EQ(bits("u8", 256), std::nullopt);
  EXPECT_EQ(bits("u32", -1), std::nullopt);
  EXPECT_THAT(bits("s8", -128), Optional(0x80U));
  EXPECT_EQ(bits("s8", -129), std::nullopt);
  EXPECT_EQ(bits("s8", 128), std::nullopt);
  EXPECT_THAT(bits("s16", -1), Optional(0xffffU));
  EXPECT_THAT(bits("b64", std::numeric_limits<std::uint64_t>::max()), Optional(~std::uint64_t{0}));
  EXPECT_EQ(bits("s64", std::uint64_t{1} << 63), std::nullopt);
  EXPECT_THAT(bits("s64", std::numeric_limits<std::int64_t>::min()),
              Optional(std::uint64_t{1} << 63));
  EXPECT_EQ(bits("s32", 1.0), std::nullopt) << "a float is no integer";
  EXPECT_THAT(bits("f32", 3), Optional(0x40400000U));
  EXPECT_THAT(bits("f64", ~std::uint64_t{0}), Optional(0x43f0000000000000U));
  EXPECT_THAT(bits("f32", -1LL), Optional(0xbf800000U));
}

TEST(Number, FloatsAreRoundedOnceToTheNearest) {
  EXPECT_THAT(bits("f16", 1.0), Optional(0x3c00U));
  EXPECT_THAT(bits("f16", -0.0), Optional(0x8000U));
  EXPECT_THAT(bits("f16", std::ldexp(1.0, -24)), Optional(1U));
  EXPECT_THAT(bits("f16", std::ldexp(1.0, -25)), Optional(0U)) << "a tie goes to even";
  EXPECT_THAT(bits("f16", std::ldexp(3.0, -25)), Optional(2U));
  EXPECT_THAT(bits("f16", 65519.999), Optional(0x7bffU));
  EXPECT_THAT(bits("f16", std::ldexp(1.0, -14)), Optional(0x0400U));
  EXPECT_THAT(bits("f16", std::ldexp(1023.75, -24)), Optional(0x0400U)) << "up to a normal number";
  // By way of f32 this would become a tie, and go down.
  EXPECT_THAT(bits("bf16", 1.0 + std::ldexp(1.0, -8) + std::ldexp(1.0, -40)), Optional(0x3f81U));
  EXPECT_THAT(bits("bf16", 1.0 + std::ldexp(1.0, -8)), Optional(0x3f80U));
  EXPECT_THAT(bits("tf32", 1.0 + std::ldexp(3.0, -11)), Optional(0x3f804000U));
  EXPECT_THAT(bits("f64", 0.1), Optional(std::bit_cast<std::uint64_t>(0.1)));
}

TEST(Number, WhatWouldBecomeInfiniteIsRefused) {
  EXPECT_EQ(bits("f16", 65520.0), std::nullopt);
  EXPECT_EQ(bits("f16", -1e300), std::nullopt);
  EXPECT_EQ(bits("f32", 3.5e38), std::nullopt);
  EXPECT_EQ(bits("bf16", 3.4e38), std::nullopt);
  EXPECT_THAT(bits("tf32", 3.4e38), Optional(0x7f7fc000U));
  EXPECT_THAT(bits("f16", kInfinity), Optional(0x7c00U));
  EXPECT_THAT(bits("f32", -kInfinity), Optional(0xff800000U));
  EXPECT_THAT(bits("bf16", kInfinity), Optional(0x7f80U));
  EXPECT_THAT(bits("f16", kNaN), Optional(0x7e00U));
  EXPECT_THAT(bits("f32", kNaN), Optional(0x7fc00000U));
}

TEST(Number, F32IsWhatTheProcessorMakesOfADouble) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 100000; ++i) {
    const double value =
        std::ldexp(static_cast<double>(random()), static_cast<int>(random() % 400) - 260);
    const auto expected = static_cast<float>(value);
    const auto got = bits("f32", value);
    if (std::isinf(expected)) {
      ASSERT_EQ(got, std::nullopt) << value;
    } else {
      ASSERT_THAT(got, Optional(std::bit_cast<std::uint32_t>(expected))) << value;
    }
  }
}

TEST(Number, IsShownAsItWasGiven) {
  EXPECT_EQ(Number(-3).text(), "-3");
  EXPECT_EQ(Number(~std::uint64_t{0}).text(), "18446744073709551615");
  EXPECT_EQ(Number(2.5).text(), "2.5");
  EXPECT_EQ(Number(kNaN).text(), "nan");
}

TEST(Number, ARefusalNamesTheScalar) {
  golden::Folder goldens("scalar");
  const ScalarType& type = *find_scalar_type("u32");
  EXPECT_THAT(*argument_bits({"n", &type}, 7, "scale"), 7U);
  goldens.expect(argument_bits({"n", &type}, -1, "scale").error());
  goldens.expect_complete();
}

}  // namespace
}  // namespace pyptx::interop
