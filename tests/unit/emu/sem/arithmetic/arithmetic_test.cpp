// SPDX-License-Identifier: Apache-2.0
//
// Arithmetic and conversions on edge values against the host and against exact references.
#include <bit>
#include <cfenv>
#include <cmath>
#include <functional>
#include <limits>

#include "bench.h"
#include "numerics/half.h"

namespace pyptx::emu {
namespace {

const std::vector<std::uint32_t> kWords = {
    0,          1,  2,  0x7FFFFFFF, 0x80000000, 0x80000001, 0xFFFFFFFF,
    0xFFFFFFFE, 31, 32, 33,         0xFFFF,     0x10000,    12345678};

/// d = op(a, b) for all pairs of `values`, one thread per pair.
template <typename D, typename T>
std::vector<D> pairs(const std::string& instruction, const std::string& load,
                     const std::string& store, const std::string& a, const std::string& b,
                     const std::string& d, const std::vector<T>& values) {
  const std::size_t n = values.size();
  std::vector<T> left;
  std::vector<T> right;
  for (const T x : values) {
    for (const T y : values) {
      left.push_back(x);
      right.push_back(y);
    }
  }
  std::vector<D> out(n * n);
  Bench bench(entry(R"(
    ld.param.u64 %rd20, [p0];
    ld.param.u64 %rd21, [p1];
    ld.param.u64 %rd22, [p2];
    mov.u32 %r50, %tid.x;
    mul.wide.u32 %rd23, %r50, )" +
                    std::to_string(sizeof(T)) + R"(;
    add.u64 %rd20, %rd20, %rd23;
    add.u64 %rd21, %rd21, %rd23;
    mul.wide.u32 %rd23, %r50, )" +
                    std::to_string(sizeof(D)) + R"(;
    add.u64 %rd22, %rd22, %rd23;
    ld.global.)" + load +
                    " " + a + ", [%rd20];\nld.global." + load + " " + b + ", [%rd21];\n" +
                    instruction + "\nst.global." + store + " [%rd22], " + d + ";\nret;"));
  bench.buffer(0, left);
  bench.buffer(1, right);
  bench.buffer(2, out);
  bench.launch.block = {static_cast<std::uint32_t>(n * n), 1, 1};
  bench.run();
  return out;
}

void words(const std::string& instruction,
           const std::function<std::uint32_t(std::uint32_t, std::uint32_t)>& reference) {
  const auto out =
      pairs<std::uint32_t, std::uint32_t>(instruction, "u32", "u32", "%r1", "%r2", "%r3", kWords);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::uint32_t a = kWords[i / kWords.size()];
    const std::uint32_t b = kWords[i % kWords.size()];
    ASSERT_EQ(out[i], reference(a, b)) << instruction << " " << a << " " << b;
  }
}

using U = std::uint32_t;
std::int32_t s(U v) { return static_cast<std::int32_t>(v); }

TEST(Arithmetic, Integers) {
  words("add.u32 %r3, %r1, %r2;", [](U a, U b) { return a + b; });
  words("sub.s32 %r3, %r1, %r2;", [](U a, U b) { return a - b; });
  words("mul.lo.u32 %r3, %r1, %r2;", [](U a, U b) { return a * b; });
  words("mul.hi.u32 %r3, %r1, %r2;",
        [](U a, U b) { return static_cast<U>(std::uint64_t{a} * b >> 32); });
  words("mul.hi.s32 %r3, %r1, %r2;",
        [](U a, U b) { return static_cast<U>(std::int64_t{s(a)} * s(b) >> 32); });
  words("add.sat.s32 %r3, %r1, %r2;", [](U a, U b) {
    return static_cast<U>(
        std::clamp<std::int64_t>(std::int64_t{s(a)} + s(b), INT32_MIN, INT32_MAX));
  });
  words("shl.b32 %r3, %r1, %r2;", [](U a, U b) { return b > 31 ? 0 : a << b; });
  words("shr.u32 %r3, %r1, %r2;", [](U a, U b) { return b > 31 ? 0 : a >> b; });
  words("shr.s32 %r3, %r1, %r2;",
        [](U a, U b) { return static_cast<U>(s(a) >> (b > 31 ? 31 : b)); });
  words("min.s32 %r3, %r1, %r2;", [](U a, U b) { return s(a) < s(b) ? a : b; });
  words("max.u32 %r3, %r1, %r2;", [](U a, U b) { return a < b ? b : a; });
  words("setp.lt.s32 %p1, %r1, %r2;\nselp.u32 %r3, 1, 0, %p1;",
        [](U a, U b) { return s(a) < s(b) ? 1U : 0U; });
  words("setp.hi.u32 %p1, %r1, %r2;\nselp.u32 %r3, 1, 0, %p1;",
        [](U a, U b) { return a > b ? 1U : 0U; });
  words(
      "setp.eq.u32 %p3, %r1, %r1;\nsetp.le.and.s32 %p1|%p2, %r1, %r2, %p3;\n"
      "selp.u32 %r3, 1, 0, %p2;",
      [](U a, U b) { return s(a) <= s(b) ? 0U : 1U; });
  words("mad.lo.s32 %r3, %r1, %r2, %r1;", [](U a, U b) { return a * b + a; });
  words("neg.s32 %r3, %r1;", [](U a, U) { return 0U - a; });
  words("abs.s32 %r3, %r1;", [](U a, U) { return s(a) < 0 ? 0U - a : a; });
  words("mul.wide.s32 %rd1, %r1, %r2;\nmov.b64 {%r4, %r3}, %rd1;",
        [](U a, U b) { return static_cast<U>(std::int64_t{s(a)} * s(b) >> 32); });
}

TEST(Arithmetic, DivisionAndRemainder) {
  words("div.s32 %r3, %r1, %r2;", [](U a, U b) {
    if (b == 0) return ~0U;
    return b == ~0U ? 0U - a : static_cast<U>(s(a) / s(b));
  });
  words("rem.u32 %r3, %r1, %r2;", [](U a, U b) { return b == 0 ? ~U{0} : a % b; });
}

const std::vector<float> kFloats = {0.0F,
                                    -0.0F,
                                    1.0F,
                                    -1.0F,
                                    3.0F,
                                    0.1F,
                                    1e30F,
                                    -1e30F,
                                    1e-30F,
                                    3.4028235e38F,
                                    std::numeric_limits<float>::infinity(),
                                    -std::numeric_limits<float>::infinity(),
                                    std::numeric_limits<float>::quiet_NaN(),
                                    std::numeric_limits<float>::denorm_min(),
                                    1e-40F,
                                    1.17549435e-38F};

void floats(const std::string& instruction, const std::function<float(float, float)>& reference) {
  const auto out = pairs<float, float>(instruction, "f32", "f32", "%f1", "%f2", "%f3", kFloats);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const float a = kFloats[i / kFloats.size()];
    const float b = kFloats[i % kFloats.size()];
    const float expected = reference(a, b);
    const U bits = std::isnan(expected) ? 0x7FFFFFFFU : std::bit_cast<U>(expected);
    ASSERT_EQ(std::bit_cast<U>(out[i]), bits) << instruction << " " << a << " " << b;
  }
}

float flushed(float a) { return std::fpclassify(a) == FP_SUBNORMAL ? std::copysign(0.0F, a) : a; }

template <typename F>
float rounded(int mode, F&& compute) {
  std::fesetround(mode);
  const volatile float r = compute();
  std::fesetround(FE_TONEAREST);
  return r;
}

TEST(Arithmetic, Floats) {
  floats("add.f32 %f3, %f1, %f2;", [](float a, float b) { return a + b; });
  floats("add.ftz.f32 %f3, %f1, %f2;",
         [](float a, float b) { return flushed(flushed(a) + flushed(b)); });
  floats("mul.rz.f32 %f3, %f1, %f2;", [](float x, float y) {
    const volatile float a = x;
    const volatile float b = y;
    return rounded(FE_TOWARDZERO, [&] { return a * b; });
  });
  floats("sub.rp.f32 %f3, %f1, %f2;", [](float x, float y) {
    const volatile float a = x;
    const volatile float b = y;
    return rounded(FE_UPWARD, [&] { return a - b; });
  });
  floats("fma.rn.f32 %f3, %f1, %f2, %f1;", [](float a, float b) { return std::fma(a, b, a); });
  floats("div.rn.f32 %f3, %f1, %f2;", [](float a, float b) { return a / b; });
  floats("mul.sat.f32 %f3, %f1, %f2;", [](float a, float b) {
    const float r = a * b;
    return r > 0 ? std::fmin(r, 1.0F) : 0.0F;
  });
  floats("min.f32 %f3, %f1, %f2;", [](float a, float b) {
    if (a == b) return std::signbit(a) ? a : b;
    return std::fmin(a, b);
  });
  floats("max.NaN.f32 %f3, %f1, %f2;", [](float a, float b) {
    if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<float>::quiet_NaN();
    if (a == b) return std::signbit(a) ? b : a;
    return std::fmax(a, b);
  });
  floats("sqrt.rn.f32 %f3, %f1;", [](float a, float) { return std::sqrt(a); });
}

TEST(Arithmetic, HalvesAreRoundedOnce) {
  // 1 + 2^-11 is a tie that goes to even; a little more must go up, also through fma.
  std::vector<std::uint16_t> values;
  for (U i = 0; i < 32; ++i) values.push_back(static_cast<std::uint16_t>(i * 2087U + i));
  values.push_back(0x3C00);  // 1
  const auto out = pairs<std::uint16_t, std::uint16_t>(
      "fma.rn.f16 %h3, %h1, %h2, %h1;", "b16", "b16", "%h1", "%h2", "%h3",
      std::vector<std::uint16_t>(values.begin(), values.begin() + 31));
  for (std::size_t i = 0; i < out.size(); ++i) {
    const double a = Half{values[i / 31]}.value();
    const double b = Half{values[i % 31]}.value();
    // long double holds the sum of any two of these exactly enough to round once.
    const long double exact = static_cast<long double>(a) * b + a;
    const double near = static_cast<double>(exact);
    const std::uint16_t expected = Half::from(near).bits;
    ASSERT_EQ(out[i], std::isnan(near) ? 0x7FFF : expected) << a << " " << b;
  }
}

TEST(Arithmetic, EveryHalfSurvivesARoundTrip) {
  for (U bits = 0; bits < 0x10000; ++bits) {
    const Half half{static_cast<std::uint16_t>(bits)};
    if (half.is_nan()) continue;
    ASSERT_EQ(Half::from(half.value()).bits, bits);
    const BFloat bfloat{static_cast<std::uint16_t>(bits)};
    if (bfloat.is_nan()) continue;
    ASSERT_EQ(BFloat::from(bfloat.value()).bits, bits);
  }
}

TEST(Arithmetic, NarrowAgreesWithTheHostForEveryModeOnF32) {
  std::uint64_t state = 88172645463325252ULL;
  const std::pair<Round, int> modes[] = {{Round::Nearest, FE_TONEAREST},
                                         {Round::Zero, FE_TOWARDZERO},
                                         {Round::Down, FE_DOWNWARD},
                                         {Round::Up, FE_UPWARD}};
  for (int i = 0; i < 20000; ++i) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    // Exponents near the range of f32, where everything happens.
    const std::uint64_t exponent = 860 + (state >> 52) % 320;
    const std::uint64_t bits = (state & 0x800FFFFFFFFFFFFFULL) | exponent << 52;
    const volatile double value = std::bit_cast<double>(bits);
    for (const auto& [mode, host] : modes) {
      const float expected = rounded(host, [&] { return static_cast<float>(value); });
      ASSERT_EQ(narrow(value, kF32, mode), std::bit_cast<U>(expected)) << value;
    }
  }
}

TEST(Arithmetic, Conversions) {
  const auto out = pairs<std::int32_t, float>("cvt.rzi.s32.f32 %r3, %f1;", "f32", "u32", "%f1",
                                              "%f2", "%r3", kFloats);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const float a = kFloats[i / kFloats.size()];
    const std::int32_t expected = std::isnan(a)   ? 0
                                  : a >= 0x1p31F  ? INT32_MAX
                                  : a <= -0x1p31F ? INT32_MIN
                                                  : static_cast<std::int32_t>(a);
    ASSERT_EQ(out[i], expected) << a;
  }
  const auto packed = pairs<U, float>("cvt.rn.bf16x2.f32 %r3, %f1, %f2;", "f32", "u32", "%f1",
                                      "%f2", "%r3", kFloats);
  for (std::size_t i = 0; i < packed.size(); ++i) {
    const U high = BFloat::from(kFloats[i / kFloats.size()]).bits;
    const U low = BFloat::from(kFloats[i % kFloats.size()]).bits;
    ASSERT_EQ(packed[i], low | high << 16);
  }
  words("cvt.s64.s32 %rd1, %r1;\nshr.u64 %rd1, %rd1, 32;\ncvt.u32.u64 %r3, %rd1;",
        [](U a, U) { return s(a) < 0 ? ~0U : 0U; });
  words("cvt.s32.s8 %r3, %r1;", [](U a, U) { return static_cast<U>(static_cast<std::int8_t>(a)); });
  words("cvt.sat.u16.s32 %h1, %r1;\ncvt.u32.u16 %r3, %h1;",
        [](U a, U) { return s(a) < 0 ? 0U : std::min(a, 65535U); });
}

TEST(Arithmetic, ApproximateFunctionsStayInTheirBounds) {
  std::vector<float> in;
  for (int i = 1; i <= 30; ++i) in.push_back(static_cast<float>(i) * 0.37F);
  const auto check = [&](const std::string& instruction, double (*reference)(double),
                         double bound) {
    const auto out = pairs<float, float>(instruction, "f32", "f32", "%f1", "%f2", "%f3", in);
    for (std::size_t i = 0; i < out.size(); ++i) {
      const double expected = reference(in[i / in.size()]);
      ASSERT_NEAR(out[i], expected, std::fabs(expected) * bound) << instruction;
    }
  };
  check("ex2.approx.f32 %f3, %f1;", [](double x) { return std::exp2(x); }, 0x1p-22);
  check("rcp.approx.ftz.f32 %f3, %f1;", [](double x) { return 1 / x; }, 0x1p-23);
  check("rsqrt.approx.f32 %f3, %f1;", [](double x) { return 1 / std::sqrt(x); }, 0x1p-22);
  check("tanh.approx.f32 %f3, %f1;", [](double x) { return std::tanh(x); }, 0x1p-11);
}

/// Video instructions do what ptxas expands them into.
TEST(Arithmetic, VideoInstructionsAreTheirExpansions) {
  const auto check = [](const std::string& instruction,
                        const std::function<std::uint32_t(std::uint32_t, std::uint32_t)>& of) {
    const auto out =
        pairs<std::uint32_t, std::uint32_t>(instruction, "u32", "u32", "%r1", "%r2", "%r3", kWords);
    for (std::size_t i = 0; i < out.size(); ++i) {
      const std::uint32_t a = kWords[i / kWords.size()];
      const std::uint32_t b = kWords[i % kWords.size()];
      ASSERT_EQ(out[i], of(a, b)) << instruction << " of " << a << ", " << b;
    }
  };
  using Word = std::uint32_t;
  check("vadd.u32.u32.u32.sat %r3, %r1, %r2;", [](Word a, Word b) { return a + b; });
  check("vadd.s32.s32.s32.sat %r3.b1, %r1, %r2, %r1;", [](Word a, Word b) {
    const std::int64_t sum =
        std::int64_t{static_cast<std::int32_t>(a)} + static_cast<std::int32_t>(b);
    const Word part = sum < 0 || sum > 127 ? 127 : static_cast<Word>(sum);
    return (a & ~0xFF00U) | part << 8;
  });
  check("vsub.s32.u32.u32.min %r3, %r1, %r2, %r1;", [](Word a, Word b) {
    return static_cast<Word>(
        std::min(static_cast<std::int32_t>(a - b), static_cast<std::int32_t>(a)));
  });
  check("vmad.u32.u32.u32.shr15 %r3, %r1, %r2, %r1;", [](Word a, Word b) {
    const std::int64_t x = static_cast<std::int32_t>(a);
    const std::int64_t sum = x * static_cast<std::int32_t>(b) + x;
    return static_cast<Word>(static_cast<std::uint64_t>(sum) >> 15);
  });
  check("vadd.u32.u32.u32 %r3.b12, %r1, %r2, %r1;", [](Word a, Word b) { return a + b; });
}

}  // namespace
}  // namespace pyptx::emu
