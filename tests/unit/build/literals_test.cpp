// SPDX-License-Identifier: Apache-2.0
#include "literals.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>

namespace pyptx::build {
namespace {

struct Case {
  double value;
  std::uint16_t bits;
};

TEST(F16Bits, RoundsToNearestEvenIncludingSubnormals) {
  constexpr Case kCases[] = {
      {1.0, 0x3c00},
      {-2.0, 0xc000},
      {65504.0, 0x7bff},
      {65519.9, 0x7bff},
      {65520.0, 0x7c00},                  // halfway to the next power: infinity
      {1.0 + 0x1p-11, 0x3c00},            // tie to even
      {1.0 + 0x1.8p-10, 0x3c02},          // tie to even, upwards
      {1.0 + 0x1p-11 + 0x1p-40, 0x3c01},  // would be a tie after rounding to float first
      {0x1p-14, 0x0400},
      {0x1p-24, 0x0001},
      {0x1p-25, 0x0000},  // tie to even
      {0x1.8p-25, 0x0001},
      {-0.0, 0x8000},
      {std::numeric_limits<double>::infinity(), 0x7c00},
  };
  for (const Case& c : kCases) EXPECT_EQ(f16_bits(c.value), c.bits) << c.value;
  EXPECT_GT(f16_bits(std::nan("")) & 0x7fff, 0x7c00);
}

TEST(Bf16Bits, RoundsToNearestEven) {
  constexpr Case kCases[] = {
      {1.0, 0x3f80},    {3.140625, 0x4049},       {1.0 + 0x1p-8, 0x3f80},
      {-0.5, 0xbf00},   {1.0 + 0x1.8p-7, 0x3f82}, {0x1p-133, 0x0001},
      {3.4e38, 0x7f80},
  };
  for (const Case& c : kCases) EXPECT_EQ(bf16_bits(c.value), c.bits) << c.value;
}

TEST(FitFloat, FollowsThePlace) {
  const ir::Operand literal = ir::Operand::f64(0.1);
  EXPECT_EQ(fit_float(literal, isa::Type::F32), ir::Operand::f32(0.1F));
  EXPECT_EQ(fit_float(literal, isa::Type::B32), ir::Operand::f32(0.1F));
  EXPECT_EQ(fit_float(literal, isa::Type::F64), literal);
  EXPECT_EQ(fit_float(literal, isa::Type::F16), literal) << "PTX has no such literal";
}

}  // namespace
}  // namespace pyptx::build
