// SPDX-License-Identifier: Apache-2.0
#include "pyptx/build/division.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>

namespace pyptx::build {
namespace {

/// What the instructions that a Reciprocal stands for give, in registers of `width` bits.
std::uint64_t quotient(std::uint64_t x, const Reciprocal& by, std::uint32_t width) {
  const std::uint64_t mask = ~std::uint64_t{0} >> (64 - width);
  const std::uint64_t shifted = x >> by.before;
  const std::uint64_t high = shifted * by.multiplier >> width;
  if (!by.has_carry) return high >> by.shift;
  return (((((shifted - high) & mask) >> 1) + high) & mask) >> (by.shift - 1);
}

TEST(Division, ReciprocalsOfOneByteAreExactForAll) {
  constexpr std::uint32_t kWidth = 8;
  bool has_carry = false;
  bool is_shifted = false;
  for (std::uint64_t divisor = 3; divisor < 256; ++divisor) {
    if (std::has_single_bit(divisor)) continue;
    for (const std::uint32_t dividend : {8U, 7U}) {
      const Reciprocal by = reciprocal(divisor, kWidth, dividend);
      EXPECT_LT(by.multiplier, 256U);
      has_carry |= by.has_carry;
      is_shifted |= by.before != 0;
      if (dividend == 7) {
        EXPECT_FALSE(by.has_carry) << divisor;
      }
      for (std::uint64_t x = 0; x < std::uint64_t{1} << dividend; ++x) {
        ASSERT_EQ(quotient(x, by, kWidth), x / divisor) << x << " / " << divisor;
      }
    }
  }
  EXPECT_TRUE(has_carry);
  EXPECT_TRUE(is_shifted);
}

TEST(Division, ReciprocalsOfTwoBytesAreExactAroundMultiples) {
  for (std::uint64_t divisor = 3; divisor < 65536; divisor += 2) {
    const Reciprocal by = reciprocal(divisor, 16, 16);
    const std::uint64_t last = 65535 / divisor * divisor;
    for (const std::uint64_t x : {std::uint64_t{0}, divisor - 1, divisor, last - 1, last,
                                  std::uint64_t{65535}, std::uint64_t{32768}}) {
      ASSERT_EQ(quotient(x, by, 16), x / divisor) << x << " / " << divisor;
    }
  }
}

}  // namespace
}  // namespace pyptx::build
