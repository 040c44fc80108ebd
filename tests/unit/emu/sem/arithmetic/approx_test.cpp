// SPDX-License-Identifier: Apache-2.0
//
// Approximate functions are inside the bounds that the manual gives, over many inputs, and special
// values are those of its tables.
#include <bit>
#include <cmath>
#include <limits>

#include "bench.h"

namespace pyptx::emu {
namespace {

/// Values of `step` apart, as bits, from `first` to `last`.
std::vector<float> sweep(float first, float last, std::size_t count) {
  std::vector<float> values;
  const std::uint32_t low = std::bit_cast<std::uint32_t>(first);
  const std::uint32_t high = std::bit_cast<std::uint32_t>(last);
  for (std::size_t i = 0; i < count; ++i) {
    values.push_back(std::bit_cast<float>(
        static_cast<std::uint32_t>(low + (std::uint64_t{high} - low) * i / (count - 1))));
  }
  return values;
}

std::vector<float> run(const std::string& instruction, std::vector<float> in) {
  while (in.size() % 128 != 0) in.push_back(1.0F);
  std::vector<float> out(in.size());
  Bench bench(entry(R"(
    ld.param.u64 %rd1, [p0]; ld.param.u64 %rd2, [p1];
    mov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x; mad.lo.u32 %r1, %r1, 128, %r2;
    mad.wide.u32 %rd1, %r1, 4, %rd1; mad.wide.u32 %rd2, %r1, 4, %rd2;
    ld.global.f32 %f1, [%rd1];
    )" + instruction +
                    R"( %f2, %f1;
    st.global.f32 [%rd2], %f2;
    ret;)"));
  bench.buffer(0, in);
  bench.buffer(1, out);
  bench.launch.grid = {static_cast<std::uint32_t>(in.size() / 128), 1, 1};
  bench.launch.block = {128, 1, 1};
  bench.run();
  return out;
}

struct Bound {
  std::string instruction;
  double (*exact)(double);
  float first;
  float last;
  double relative;
  double absolute;
};

double rcp(double x) { return 1 / x; }
double rsqrt(double x) { return 1 / std::sqrt(x); }
double exact_sqrt(double x) { return std::sqrt(x); }
double exact_ex2(double x) { return std::exp2(x); }
double exact_lg2(double x) { return std::log2(x); }
double exact_sin(double x) { return std::sin(x); }
double exact_cos(double x) { return std::cos(x); }
double exact_tanh(double x) { return std::tanh(x); }

const Bound kBounds[] = {
    {"rcp.approx.f32", rcp, 0x1p-125F, 0x1p125F, 0x1p-23, 0},
    {"sqrt.approx.f32", exact_sqrt, 0x1p-126F, 0x1p126F, 0x1p-23, 0},
    {"rsqrt.approx.f32", rsqrt, 0x1p-126F, 0x1p126F, 0x1.1p-23, 0},
    {"ex2.approx.f32", exact_ex2, 0x1p-20F, 127.0F, 0x1p-22, 0},
    {"lg2.approx.f32", exact_lg2, 0.51F, 1.99F, 0, 0x1p-22},
    {"lg2.approx.f32", exact_lg2, 2.0F, 0x1p126F, 0x1p-22, 0},
    {"sin.approx.f32", exact_sin, 0x1p-20F, 3.1415925F, 0, 0x1p-20},
    {"cos.approx.f32", exact_cos, 0x1p-20F, 3.1415925F, 0, 0x1p-20},
    {"sin.approx.f32", exact_sin, 3.1416F, 314.0F, 0, 0x1.3Bp-15},  // 2^-14.7
    {"tanh.approx.f32", exact_tanh, 0x1p-20F, 20.0F, 0x1p-11, 0},
};

TEST(Approximations, AreInsideTheManualsBounds) {
  for (const Bound& bound : kBounds) {
    const std::vector<float> in = sweep(bound.first, bound.last, 16384);
    const std::vector<float> out = run(bound.instruction, in);
    for (std::size_t i = 0; i < in.size(); ++i) {
      const double exact = bound.exact(in[i]);
      const double limit = std::max(bound.absolute, bound.relative * std::fabs(exact));
      ASSERT_LE(std::fabs(static_cast<double>(out[i]) - exact), limit)
          << bound.instruction << " of " << in[i];
    }
  }
}

TEST(Approximations, SpecialValuesFollowTheTables) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const std::vector<float> in = {-kInfinity, -1.0F, -0.0F, 0.0F, kInfinity};
  const auto same = [&](const std::string& instruction, const std::vector<float>& wanted) {
    const std::vector<float> out = run(instruction, in);
    for (std::size_t i = 0; i < in.size(); ++i) {
      if (std::isnan(wanted[i])) {
        EXPECT_EQ(std::bit_cast<std::uint32_t>(out[i]), 0x7FFFFFFFU) << instruction << in[i];
      } else {
        EXPECT_EQ(std::bit_cast<std::uint32_t>(out[i]), std::bit_cast<std::uint32_t>(wanted[i]))
            << instruction << " of " << in[i];
      }
    }
  };
  same("rcp.approx.f32", {-0.0F, -1.0F, -kInfinity, kInfinity, 0.0F});
  same("sqrt.approx.f32", {NAN, NAN, -0.0F, 0.0F, kInfinity});
  same("rsqrt.approx.f32", {NAN, NAN, -kInfinity, kInfinity, 0.0F});
  same("lg2.approx.f32", {NAN, NAN, -kInfinity, -kInfinity, kInfinity});
  same("ex2.approx.f32", {0.0F, 0.5F, 1.0F, 1.0F, kInfinity});
  same("sin.approx.f32", {NAN, std::bit_cast<float>(0xBF576AA3U), -0.0F, 0.0F, NAN});
}

TEST(Approximations, AreTheAnswersOfAnH200) {
  // tests/emu/test_functions.py compares many more; these say where to look when it fails.
  const auto bits = [](const std::string& instruction, std::uint32_t argument) {
    const std::vector<float> out = run(instruction, {std::bit_cast<float>(argument)});
    return std::bit_cast<std::uint32_t>(out[0]);
  };
  EXPECT_EQ(bits("lg2.approx.f32", 0x3F000000U), 0xBF7FFFFEU);  // of 1/2: not -1
  EXPECT_EQ(bits("sqrt.approx.f32", 0x4052409DU), 0x3FE80056U);
  EXPECT_EQ(bits("tanh.approx.f32", 0x3F800000U), 0x3F42F848U);
  EXPECT_EQ(bits("tanh.approx.f32", 0x00000001U), 0x00000001U);
  EXPECT_EQ(bits("sin.approx.f32", 0x4052409DU), 0xBE128AC5U);
  EXPECT_EQ(bits("cos.approx.f32", 0x4052409DU), 0xBF7D5D72U);
  EXPECT_EQ(bits("rcp.approx.ftz.f32", 0x7E800001U), 0U);
  EXPECT_EQ(bits("rcp.approx.f32", 0x7E800001U), 0x007FFFFFU);
}

}  // namespace
}  // namespace pyptx::emu
