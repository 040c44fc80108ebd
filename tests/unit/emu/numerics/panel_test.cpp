// SPDX-License-Identifier: Apache-2.0
//
// The numerics of matrix instructions: panels against the layouts of the PTX ISA and against
// float64, and the exact sums against a transcription of their definition in wide integers, in
// every variant that the host has.
#include "numerics/panel.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "numerics/convert.h"
#include "pyptx/layout/fragment.h"
#include "sem/variant.h"

namespace pyptx::emu {
namespace {

std::vector<const PanelKernels*> variants() {
  std::vector<const PanelKernels*> all;
  for (const NamedVariant& one : host_variants()) all.push_back(one.variant->panels);
  return all;
}

// --- the definition -------------------------------------------------------------------------

using Wide = __int128;

/// |x| = significand * 2^(exponent - 30), the exponent not below `least`.
struct Parts {
  i64 significand = 0;
  int exponent = 0;
};

Parts parts_of(double x, int least) {
  if (x == 0) return {0, -100000};
  int exponent = 0;
  std::frexp(x, &exponent);
  exponent = std::max(exponent - 1, least);
  return {static_cast<i64>(std::ldexp(x, 30 - exponent)), exponent};
}

/// Cut toward zero to multiples of 2^-fraction_bits of 2^greatest.
Wide aligned(Wide significand, int exponent, int point, int greatest, int fraction_bits) {
  const int shift = exponent - point - greatest + fraction_bits;
  if (significand == 0 || shift < -120) return 0;
  const Wide magnitude = significand < 0 ? -significand : significand;
  const Wide moved = shift >= 0 ? magnitude << shift : magnitude >> -shift;
  return significand < 0 ? -moved : moved;
}

float reference(const std::vector<float>& a, const std::vector<float>& b, float c,
                const SumRule& rule) {
  double special = c;
  for (std::size_t i = 0; i < a.size(); ++i) special += double{a[i]} * double{b[i]};
  if (std::isnan(special)) return std::bit_cast<float>(0x7FFFFFFFU);
  if (std::isinf(special)) return static_cast<float>(special);
  std::vector<std::pair<Wide, int>> terms;  // significand of 60 fraction bits, exponent
  const Parts own = parts_of(c, rule.least_c);
  terms.emplace_back(Wide{own.significand} << 30, own.exponent);
  for (std::size_t i = 0; i < a.size(); ++i) {
    const Parts x = parts_of(a[i], rule.least_a);
    const Parts y = parts_of(b[i], rule.least_b);
    terms.emplace_back(Wide{x.significand} * y.significand, x.exponent + y.exponent);
  }
  int greatest = -133;  // of a zero C
  for (const auto& [significand, exponent] : terms) {
    if (significand != 0) greatest = std::max(greatest, exponent);
  }
  Wide sum = 0;
  for (const auto& [significand, exponent] : terms) {
    sum += aligned(significand, exponent, 60, greatest, rule.fraction_bits);
  }
  if (sum == 0) return 0;
  // The sum has at most 40 bits: exact in double.
  const double value =
      std::ldexp(static_cast<double>(static_cast<i64>(sum)), greatest - rule.fraction_bits);
  // A result that rounds to zero is +0.
  if (rule.output == SumRule::Output::F16) {
    return static_cast<float>(widen(narrow(value, kF16, Round::Nearest), kF16)) + 0.0F;
  }
  int exponent = 0;
  std::frexp(value, &exponent);
  const int kept = rule.output == SumRule::Output::ShortF32 ? 13 : 23;
  const int unit = std::max(exponent - 1, -126) - kept;
  return static_cast<float>(std::ldexp(std::trunc(std::ldexp(value, -unit)), unit)) + 0.0F;
}

// --- operands -------------------------------------------------------------------------------

struct Spread {
  int least;  // exponents of the values
  int greatest;
  int zeros = 8;     // one of so many is zero
  int specials = 0;  // one of so many is no number; 0: none
};

float random_value(std::mt19937& random, int fraction_bits, const Spread& spread) {
  if (random() % static_cast<unsigned>(spread.zeros) == 0) return random() % 2 == 0 ? 0.0F : -0.0F;
  if (spread.specials != 0 && random() % static_cast<unsigned>(spread.specials) == 0) {
    return random() % 3 == 0 ? NAN : random() % 2 == 0 ? INFINITY : -INFINITY;
  }
  const int exponent =
      spread.least +
      static_cast<int>(random() % static_cast<unsigned>(spread.greatest - spread.least + 1));
  const auto fraction = static_cast<u32>(random() & ((1U << fraction_bits) - 1));
  const double value = std::ldexp(1 + std::ldexp(fraction, -fraction_bits), exponent);
  return static_cast<float>(random() % 2 == 0 ? value : -value);
}

struct Case {
  std::string name;
  SumRequest request;
  int fraction_bits;
  Spread a;
  Spread c;
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

class ExactSums : public ::testing::TestWithParam<Case> {};

void check(const Case& test, const PanelKernels& kernels, u32 seed) {
  std::mt19937 random(seed);
  const SumRule rule = sum_rule(test.request);
  constexpr u32 kA = 4;
  constexpr u32 kB = 4;
  const u32 depth = test.request.depth;
  std::vector<float> a(kA * depth * kVector);
  std::vector<float> b(kB * depth * kVector);
  std::vector<float> d(kA * kB * kVector);
  for (float& x : a) x = random_value(random, test.fraction_bits, test.a);
  for (float& x : b) x = random_value(random, test.fraction_bits, test.a);
  for (float& x : d) x = random_value(random, test.request.is_half_output ? 10 : 23, test.c);
  const std::vector<float> c = d;
  std::vector<float*> vectors;
  for (u32 i = 0; i < kA * kB; ++i) vectors.push_back(d.data() + i * kVector);
  const Panels panels{a.data(), b.data(), vectors.data(), kA, kB, depth};
  std::vector<i16> exponents((kA + 2 * kB) * depth * kVector);
  std::vector<u8> special(kA + kB);
  const Exponents out{exponents.data(), exponents.data() + kA * depth * kVector, special.data(),
                      special.data() + kA};
  kernels.find_exponents(panels, rule, out);
  kernels.multiply_exact(panels, rule, out);
  for (u32 i = 0; i < kA * kB * kVector; ++i) {
    const u32 lane = i % kVector;
    float sum = rule.adds_c_last ? 0 : c[i];
    for (u32 first = 0; first < depth; first += rule.chunk) {
      std::vector<float> x;
      std::vector<float> y;
      for (u32 k = first; k < first + rule.chunk; ++k) {
        x.push_back(a[(i / kVector / kB * depth + k) * kVector + lane]);
        y.push_back(b[(i / kVector % kB * depth + k) * kVector + lane]);
      }
      sum = reference(x, y, sum, rule);
    }
    if (rule.adds_c_last) sum = add_rounded(c[i], sum, rule);
    ASSERT_EQ(std::bit_cast<u32>(d[i]), std::bit_cast<u32>(sum))
        << "output " << i << ", " << d[i] << " is not " << sum;
  }
}

TEST_P(ExactSums, AgreeWithTheDefinition) {
  for (const PanelKernels* kernels : variants()) {
    for (u32 seed = 0; seed < 20; ++seed) {
      check(GetParam(), *kernels, seed);
      if (HasFatalFailure()) return;
    }
  }
}

SumRequest request(TensorCore core, MatrixUnit unit, Element element, bool is_half, u32 depth) {
  return {core, unit, element, element, is_half, depth};
}

std::vector<Case> cases() {
  constexpr auto kMma = MatrixUnit::Mma;
  constexpr auto kWgmma = MatrixUnit::Wgmma;
  using enum TensorCore;
  return {
      {"f16", request(Hopper, kMma, Element::F16, false, 16), 10, {-3, 3}, {-6, 6}},
      {"f16_wide", request(Hopper, kMma, Element::F16, false, 16), 10, {-24, 15}, {-60, 60}},
      {"f16_like_signs", request(Hopper, kMma, Element::F16, false, 16), 10, {0, 0, 1000}, {1, 1}},
      {"f16_half", request(Hopper, kMma, Element::F16, true, 16), 10, {-5, 5}, {-8, 8}},
      {"f16_half_wide", request(Hopper, kMma, Element::F16, true, 16), 10, {-24, 15}, {-14, 15}},
      {"f16_half_small", request(Hopper, kMma, Element::F16, true, 16), 10, {-14, -8}, {-14, -12}},
      {"f16_special",
       request(Hopper, kMma, Element::F16, false, 16),
       10,
       {-3, 3, 8, 40},
       {-6, 6, 8, 10}},
      {"f16_ampere", request(Ampere, kMma, Element::F16, false, 16), 10, {-8, 8}, {-12, 12}},
      {"f16_ampere_half", request(Ampere, kMma, Element::F16, true, 16), 10, {-5, 5}, {-8, 8}},
      {"bf16", request(Hopper, kWgmma, Element::BF16, false, 16), 7, {-10, 10}, {-20, 20}},
      {"bf16_wide", request(Hopper, kWgmma, Element::BF16, false, 16), 7, {-126, 127}, {-126, 127}},
      {"bf16_small",
       request(Hopper, kWgmma, Element::BF16, false, 16),
       7,
       {-75, -60},
       {-126, -110}},
      {"bf16_smaller",
       request(Hopper, kWgmma, Element::BF16, false, 16),
       7,
       {-80, -73},
       {-126, -126, 2}},
      {"bf16_great", request(Hopper, kWgmma, Element::BF16, false, 16), 7, {55, 64}, {120, 127}},
      {"bf16_special",
       request(Hopper, kWgmma, Element::BF16, false, 16),
       7,
       {-9, 9, 3, 30},
       {-9, 9, 3, 9}},
      {"tf32", request(Hopper, kWgmma, Element::TF32, false, 8), 10, {-10, 10}, {-20, 20}},
      {"tf32_wide", request(Ampere, kMma, Element::TF32, false, 8), 10, {-126, 127}, {-126, 127}},
      {"tf32_k4", request(Ampere, kMma, Element::TF32, false, 4), 10, {-6, 6}, {-9, 9}},
      {"e4m3", request(Hopper, kWgmma, Element::E4M3, false, 32), 3, {-6, 8}, {-10, 20}},
      {"e5m2_half", request(Hopper, kWgmma, Element::E5M2, true, 32), 2, {-16, 4}, {-14, 10}},
      {"e4m3_mma", request(Hopper, kMma, Element::E4M3, false, 32), 3, {-9, 8}, {-10, 20}},
      {"e4m3_mma_half", request(Hopper, kMma, Element::E4M3, true, 32), 3, {-9, 4}, {-10, 10}},
      {"e4m3_ada", request(Ada, kMma, Element::E4M3, false, 32), 3, {-6, 8}, {-10, 20}},
      {"e5m2_blackwell",
       request(Blackwell, MatrixUnit::Tcgen05, Element::E5M2, false, 32),
       2,
       {-16, 15},
       {-10, 20}},
  };
}

INSTANTIATE_TEST_SUITE_P(All, ExactSums, ::testing::ValuesIn(cases()),
                         [](const auto& instance) { return instance.param.name; });

TEST(TensorSum, CutsWhatTheAlignmentLoses) {
  // 2^25 + 1: the one is the last fraction bit of Hopper, and lost on Ampere.
  const float a[] = {0x1p12F, 1.0F};
  const float b[] = {0x1p13F, 1.0F};
  const SumTerms terms{a, b, 1, 2, -0x1p25F};
  EXPECT_EQ(tensor_sum(terms, sum_rule(request(TensorCore::Hopper, MatrixUnit::Mma, Element::F16,
                                               false, 16))),
            1.0F);
  EXPECT_EQ(tensor_sum(terms, sum_rule(request(TensorCore::Ampere, MatrixUnit::Mma, Element::F16,
                                               false, 16))),
            0.0F);
}

TEST(TensorSum, Generations) {
  const auto rule = [](TensorCore core, MatrixUnit unit, Element element, u32 depth) {
    return sum_rule(request(core, unit, element, false, depth));
  };
  EXPECT_EQ(rule(TensorCore::Ampere, MatrixUnit::Mma, Element::BF16, 16).chunk, 8);
  EXPECT_EQ(rule(TensorCore::Ampere, MatrixUnit::Mma, Element::F16, 8).chunk, 8);
  EXPECT_EQ(rule(TensorCore::Ampere, MatrixUnit::Mma, Element::TF32, 8).chunk, 4);
  EXPECT_EQ(rule(TensorCore::Ada, MatrixUnit::Mma, Element::E4M3, 32).chunk, 16);
  EXPECT_EQ(rule(TensorCore::Ada, MatrixUnit::Mma, Element::E4M3, 32).fraction_bits, 13);
  EXPECT_EQ(rule(TensorCore::Hopper, MatrixUnit::Mma, Element::F16, 16).chunk, 16);
  EXPECT_EQ(rule(TensorCore::Hopper, MatrixUnit::Wgmma, Element::E5M2, 32).fraction_bits, 13);
  EXPECT_TRUE(rule(TensorCore::Hopper, MatrixUnit::Mma, Element::E4M3, 32).adds_c_last);
  EXPECT_FALSE(rule(TensorCore::BlackwellRtx, MatrixUnit::Mma, Element::E4M3, 32).adds_c_last);
  EXPECT_EQ(rule(TensorCore::Blackwell, MatrixUnit::Tcgen05, Element::E4M3, 32).chunk, 32);
}

// --- bits and layouts -----------------------------------------------------------------------

double value_of(Element element, u32 bits) {
  switch (element) {
    case Element::F16:
      return widen(bits, kF16);
    case Element::BF16:
      return widen(bits, kBF16);
    case Element::E4M3:
      return widen(bits, kE4M3);
    case Element::E5M2:
      return widen(bits, kE5M2);
    case Element::S8:
      return static_cast<i8>(bits);
    case Element::U8:
      return bits;
    default: {  // the narrow formats have neither infinities nor NaNs
      const u32 shift = element == Element::E2M1 ? 2 : 0;
      const u32 fraction_bits = element == Element::E2M3 ? 3 : element == Element::E3M2 ? 2 : 1;
      const u32 exponent_bits = element == Element::E3M2 ? 3 : 2;
      const u32 raw = bits >> shift;
      const u32 fraction = raw & ((1U << fraction_bits) - 1);
      const u32 biased = raw >> fraction_bits & ((1U << exponent_bits) - 1);
      const int bias = (1 << (exponent_bits - 1)) - 1;
      const double significand = std::ldexp(fraction, -static_cast<int>(fraction_bits));
      const double magnitude = biased == 0
                                   ? std::ldexp(significand, 1 - bias)
                                   : std::ldexp(1 + significand, static_cast<int>(biased) - bias);
      return (raw >> (fraction_bits + exponent_bits) & 1U) != 0 ? -magnitude : magnitude;
    }
  }
}

TEST(Elements, EveryBitPattern) {
  for (const PanelKernels* kernels : variants()) {
    for (const Element element :
         {Element::F16, Element::BF16, Element::E4M3, Element::E5M2, Element::E2M3, Element::E3M2,
          Element::E2M1, Element::S8, Element::U8}) {
      const u32 bits = info(element).bits;
      for (u32 first = 0; first < 1U << bits; first += 128 / bits) {
        u8 bytes[16];
        for (u32 i = 0; i < 128 / bits; ++i) {
          for (u32 byte = 0; byte < bits / 8; ++byte) {
            bytes[i * bits / 8 + byte] = static_cast<u8>((first + i) >> (8 * byte));
          }
        }
        float values[16];
        const std::byte* chunk = reinterpret_cast<const std::byte*>(bytes);
        kernels->decode_chunks(element, &chunk, 1, values);
        for (u32 i = 0; i < 128 / bits; ++i) {
          const double expected = value_of(element, first + i);
          if (std::isnan(expected)) {
            ASSERT_TRUE(std::isnan(values[i])) << info(element).name << " " << first + i;
          } else {
            ASSERT_EQ(std::bit_cast<u32>(values[i]),
                      std::bit_cast<u32>(static_cast<float>(expected)))
                << info(element).name << " " << first + i;
          }
        }
      }
    }
  }
}

TEST(Elements, HalvesRoundToNearestEven) {
  std::mt19937 random(7);
  for (const PanelKernels* kernels : variants()) {
    for (u32 round = 0; round < 2000; ++round) {
      float low[kLanes];
      float high[kLanes];
      u32 pair[kLanes];
      for (u32 i = 0; i < kLanes; ++i) {
        low[i] = random_value(random, 23, {-28, 18, 20, 50});
        // Halfway between two halves, or next to it.
        const auto half = static_cast<u32>(random() & 0x7BFFU);
        high[i] = std::bit_cast<float>(
            std::bit_cast<u32>(static_cast<float>(widen(half, kF16) + widen(half + 1, kF16)) / 2) +
            static_cast<u32>(random() % 3) - 1);
      }
      kernels->pack_halves(low, high, pair);
      for (u32 i = 0; i < kLanes; ++i) {
        ASSERT_EQ(pair[i] & 0xFFFFU, narrow(low[i], kF16, Round::Nearest)) << low[i];
        ASSERT_EQ(pair[i] >> 16, narrow(high[i], kF16, Round::Nearest)) << high[i];
      }
    }
  }
}

/// Registers whose element at (row, k) is a number of its own, spread into panels.
void check_spread(const PanelKernels& kernels, Element element, u32 depth, bool is_a) {
  const u32 bits = info(element).bits;
  const layout::Fragment fragment =
      is_a ? layout::mma_a(16, depth, bits) : layout::mma_b(depth, bits);
  const auto number = [&](const layout::FragmentPlace& at) {
    return (at.row * 31 + at.column * 7) % (bits == 4 ? 8 : 100);
  };
  std::vector<float> panel((is_a ? 8 : 2) * depth * kVector, -1);
  for (u32 reg = 0; reg < fragment.registers; ++reg) {
    u32 lanes[kLanes] = {};
    for (u32 lane = 0; lane < kLanes; ++lane) {
      for (u32 e = 0; e < fragment.elements; ++e) {
        u32 raw = number(fragment.at(lane, reg, e));
        if (element == Element::BF16) raw = std::bit_cast<u32>(static_cast<float>(raw)) >> 16;
        if (element == Element::TF32) raw = std::bit_cast<u32>(static_cast<float>(raw));
        lanes[lane] |= raw << (e * bits % 32);
      }
    }
    const u32 step = 4 * 32 / bits;
    if (is_a) {
      kernels.spread_a({element, lanes, reg / 2 * step, reg % 2, depth, false}, panel.data());
    } else {
      kernels.spread_b({element, lanes, reg * step, 0, depth, false}, panel.data());
    }
  }
  const layout::Fragment accumulator = layout::mma_accumulator(16, 32);
  for (u32 lane = 0; lane < kLanes; ++lane) {
    for (u32 reg = 0; reg < 4; ++reg) {
      const layout::FragmentPlace at = accumulator.at(lane, reg);
      const u32 p = is_a ? reg / 2 * 4 + lane / 8 : reg % 2;
      for (u32 k = 0; k < depth; ++k) {
        const u32 expected = is_a ? number({at.row, k, 0}) : number({k, at.column, 0});
        ASSERT_EQ(panel[(p * depth + k) * kVector + lane % 8], static_cast<float>(expected))
            << info(element).name << " lane " << lane << " register " << reg << " k " << k;
      }
    }
  }
}

TEST(Panels, RegistersAreWhereTheManualPutsThem) {
  for (const PanelKernels* kernels : variants()) {
    for (const bool is_a : {true, false}) {
      check_spread(*kernels, Element::BF16, 16, is_a);
      check_spread(*kernels, Element::BF16, 8, is_a);
      check_spread(*kernels, Element::TF32, 8, is_a);
      check_spread(*kernels, Element::TF32, 4, is_a);
      check_spread(*kernels, Element::U8, 32, is_a);
      check_spread(*kernels, Element::S8, 16, is_a);
      check_spread(*kernels, Element::U4, 64, is_a);
    }
  }
}

TEST(Panels, RowsAndRegistersAgree) {
  for (const PanelKernels* kernels : variants()) {
    for (const u32 depth : {8U, 16U, 32U, 64U}) {
      std::vector<float> rows(8 * depth);
      for (u32 i = 0; i < rows.size(); ++i) rows[i] = static_cast<float>(i);
      std::vector<float> a(4 * depth * kVector);
      std::vector<float> b(2 * depth * kVector);
      kernels->rows_to_a(rows.data(), depth, a.data());
      kernels->rows_to_b(rows.data(), depth, b.data());
      for (u32 k = 0; k < depth; ++k) {
        for (u32 lane = 0; lane < kVector; ++lane) {
          for (u32 v = 0; v < 4; ++v) {
            ASSERT_EQ(a[(v * depth + k) * kVector + lane], rows[(2 * v + lane / 4) * depth + k]);
          }
          for (u32 q = 0; q < 2; ++q) {
            ASSERT_EQ(b[(q * depth + k) * kVector + lane], rows[(lane % 4 * 2 + q) * depth + k]);
          }
        }
      }
    }
  }
}

TEST(Panels, FastSumsAreCloseToFloat64) {
  std::mt19937 random(3);
  for (const PanelKernels* kernels : variants()) {
    constexpr u32 kA = 6;  // a block of four and one of two
    constexpr u32 kB = 2;
    constexpr u32 kDepth = 16;
    std::vector<float> a(kA * kDepth * kVector);
    std::vector<float> b(kB * kDepth * kVector);
    std::vector<float> d(kA * kB * kVector);
    for (float& x : a) x = random_value(random, 10, {-3, 3});
    for (float& x : b) x = random_value(random, 10, {-3, 3});
    for (float& x : d) x = random_value(random, 10, {-3, 3});
    const std::vector<float> c = d;
    std::vector<float*> vectors;
    for (u32 i = 0; i < kA * kB; ++i) vectors.push_back(d.data() + i * kVector);
    kernels->multiply({a.data(), b.data(), vectors.data(), kA, kB, kDepth});
    for (u32 i = 0; i < d.size(); ++i) {
      double sum = c[i];
      double size = std::fabs(c[i]);
      for (u32 k = 0; k < kDepth; ++k) {
        const double product = double{a[(i / kVector / kB * kDepth + k) * kVector + i % kVector]} *
                               double{b[(i / kVector % kB * kDepth + k) * kVector + i % kVector]};
        sum += product;
        size += std::fabs(product);
      }
      EXPECT_NEAR(d[i], sum, size * 1e-6);
    }
  }
}

}  // namespace
}  // namespace pyptx::emu
