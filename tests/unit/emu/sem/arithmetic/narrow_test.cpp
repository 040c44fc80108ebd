// SPDX-License-Identifier: Apache-2.0
//
// What no recorded vector covers: 8-, 6- and 4-bit floats, scales, mixed precision, packed bytes
// and stochastic rounding of later targets, against values from the manual's definitions.
#include <bit>
#include <cmath>

#include "bench.h"
#include "numerics/narrow.h"

namespace pyptx::emu {
namespace {

using Words = std::vector<std::uint32_t>;

/// Runs `body` on one lane of a later target; %r1.. hold the inputs, %r0 the result.
std::uint32_t answer(const std::string& body, const Words& inputs,
                     const std::string& target = "sm_107a") {
  std::string text = entry("ld.param.u64 %rd20, [p0];\nld.param.u64 %rd21, [p1];\n", {}, {});
  std::string loads;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const std::string number = std::to_string(i + 1);
    loads += "ld.global.b32 %r" + number + ", [%rd20+" + std::to_string(4 * i) + "];\n";
    loads += "mov.b32 %f" + number + ", %r" + number + ";\n";
    loads += "cvt.u16.u32 %h" + number + ", %r" + number + ";\n";
  }
  text.insert(text.rfind('}'), loads + body + "\nst.global.b32 [%rd21], %r0;\nret;\n");
  text.replace(text.find("8.6"), 3, "9.4");
  text.replace(text.find("sm_90a"), 6, target);
  Words in = inputs;
  Words out = {0xEEEEEEEE};
  Bench bench(text);
  bench.buffer(0, in);
  bench.buffer(1, out);
  bench.launch.block = {1, 1, 1};
  bench.run();
  return out[0];
}

std::uint32_t bits(float value) { return std::bit_cast<std::uint32_t>(value); }

TEST(Narrow, EveryFormatIsWhatItsNameSays) {
  EXPECT_EQ(widen(kE4M3.largest(), kE4M3), 448.0);
  EXPECT_EQ(widen(kE5M2.largest(), kE5M2), 57344.0);
  EXPECT_EQ(widen(kE3M2.largest(), kE3M2), 28.0);
  EXPECT_EQ(widen(kE2M3.largest(), kE2M3), 7.5);
  EXPECT_EQ(widen(kE2M1.largest(), kE2M1), 6.0);
  EXPECT_EQ(widen(1, kE2M1), 0.5);
  EXPECT_EQ(widen(1, kE2M3), 0.125);
  EXPECT_EQ(widen(1, kE3M2), 0.0625);
  EXPECT_EQ(scale_value(127), 1.0);
  EXPECT_TRUE(std::isnan(scale_value(255)));
}

TEST(Narrow, ConversionsRoundOnceAndSaturate) {
  const std::string down = "cvt.rn.satfinite.e2m1x2.f32 %q0, %f1, %f2;\ncvt.u32.u8 %r0, %q0;";
  const auto fours = [&](float a, float b) {
    return answer("{ .reg .b8 %q0;\n" + down + "\n}", {bits(a), bits(b)});
  };
  EXPECT_EQ(fours(6.0F, 0.5F), 0x71U);
  EXPECT_EQ(fours(100.0F, -100.0F), 0x7FU);  // the largest, with its sign
  EXPECT_EQ(fours(0.25F, 0.75F), 0x02U);     // ties to even: 0 and 1.0
  EXPECT_EQ(fours(NAN, -0.0F), 0x78U);       // a NaN is the largest number
  EXPECT_EQ(answer("cvt.rn.satfinite.e3m2x2.f32 %h0, %f1, %f2;\ncvt.u32.u16 %r0, %h0;",
                   {bits(28.0F), bits(-0.0625F)}),
            0x1F21U);
  EXPECT_EQ(answer("cvt.rn.f16x2.e2m3x2 %r0, %h1;", {0x1F01}), 0x47803000U);
}

TEST(Narrow, ScalesAreAppliedBeforeRounding) {
  // 3 / 2^1 = 1.5; 7.5 / 2 = 3.75, which rounds to 4.
  EXPECT_EQ(answer("{ .reg .b8 %s, %q0;\ncvt.u8.u32 %s, %r3;\ncvt.rn.satfinite.scaled::n1::ue8m0."
                   "e2m1x2.f32 %q0, %f1, %f2, %s;\ncvt.u32.u8 %r0, %q0;\n}",
                   {bits(3.0F), bits(7.5F), 128}),
            0x36U);
  // bf16 1.0 * 2^1 above, 0.5 * 2^-1 below.
  EXPECT_EQ(answer("cvt.rn.scaled::n2::ue8m0.bf16x2.e4m3x2 %r0, %h1, %h2;", {0x3830, 0x807E}),
            0x40003E80U);
  EXPECT_EQ(
      answer("cvt.rp.ue8m0x2.f32 %h0, %f1, %f2;\ncvt.u32.u16 %r0, %h0;", {bits(3.0F), bits(2.0F)}),
      0x8180U);
  EXPECT_EQ(
      answer("cvt.rz.ue8m0x2.f32 %h0, %f1, %f2;\ncvt.u32.u16 %r0, %h0;", {bits(3.0F), bits(0.0F)}),
      0x8000U);
}

TEST(Narrow, PositiveZerosAndRandomBits) {
  EXPECT_EQ(answer("cvt.rn.f16x2.f32 %r0, %f1, %f2;", {bits(-0.0F), bits(1.0F)}), 0x80003C00U);
  EXPECT_EQ(answer("cvt.rn.pzo.f16x2.f32 %r0, %f1, %f2;", {bits(-0.0F), bits(1.0F)}), 0x00003C00U);
  // Half way between two bf16: the random bits decide, by the carry.
  const std::uint32_t middle = 0x3F808000;
  EXPECT_EQ(answer("cvt.rs.bf16x2.f32 %r0, %f1, %f2, %r3;", {middle, middle, 0x80007FFF}),
            0x3F813F80U);
  EXPECT_EQ(answer("cvt.rs.bf16x2.f32 %r0, %f1, %f2, %r3;", {bits(1.0F), bits(-1.0F), ~0U}),
            0x3F80BF80U);
}

TEST(Narrow, ArithmeticIsExactBeforeItsOneRounding) {
  // e4m3: 1 + 1 = 2, 448 + 448 saturates or is a NaN.
  EXPECT_EQ(
      answer("add.rn.satfinite.e4m3x4.e4m3x4 %r0, %r1, %r2;", {0x38387E38, 0x38387E38}, "sm_100a"),
      0x40407E40U);
  EXPECT_EQ(answer("add.rn.e4m3x4.e4m3x4 %r0, %r1, %r2;", {0x7E, 0x7E}, "sm_100a") & 0xFFU, 0x7FU);
  EXPECT_EQ(answer("fma.rn.f32.f16 %f0, %h1, %h2, %f3;\nmov.b32 %r0, %f0;",
                   {0x3C01, 0x3C01, bits(-1.0F)}),
            bits(std::fma(1.0F + 0x1p-10F, 1.0F + 0x1p-10F, -1.0F)));
  EXPECT_EQ(answer("add.rm.f32.bf16 %f0, %h1, %f2;\nmov.b32 %r0, %f0;", {0x3F80, bits(-1.0F)}),
            bits(-0.0F));
  EXPECT_EQ(answer("sub.sat.f32.f16 %f0, %h1, %f2;\nmov.b32 %r0, %f0;", {0x4000, bits(0.5F)}),
            bits(1.0F));
}

TEST(Narrow, PackedBytesWrapSaturateAndClampAtZero) {
  const Words in = {0x7F80FF01, 0x01FF01FF};
  EXPECT_EQ(answer("add.u8x4 %r0, %r1, %r2;", in), 0x807F0000U);
  EXPECT_EQ(answer("add.sat.s8x4 %r0, %r1, %r2;", in), 0x7F800000U);
  EXPECT_EQ(answer("sub.sat.u8x4 %r0, %r1, %r2;", in), 0x7E00FE00U);
  EXPECT_EQ(answer("max.relu.s8x4 %r0, %r1, %r2;", in), 0x7F000101U);
  EXPECT_EQ(answer("neg.s8x4 %r0, %r1;", in), 0x818001FFU);
  EXPECT_EQ(answer("set.lt.s8x4 %r0, %r1, %r2;", in), 0x00FFFF00U);
}

TEST(Narrow, WhatTheManualDoesNotDefineIsRefusedByName) {
  Bench bench(
      ".version 9.0\n.target sm_100a\n.address_size 64\n.visible .entry k()\n{\n.reg .b32 %r<3>;\n"
      ".reg .f32 %f<5>;\ncvt.rs.satfinite.e4m3x4.f32 %r1, {%f1, %f2, %f3, %f4}, %r2;\nret;\n}\n");
  EXPECT_THAT(bench.problem(), testing::HasSubstr("PTX0902"));
  EXPECT_THAT(bench.problem(), testing::HasSubstr("cvt.rs.satfinite.e4m3x4.f32"));
}

}  // namespace
}  // namespace pyptx::emu
