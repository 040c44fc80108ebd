// SPDX-License-Identifier: Apache-2.0
//
// Block-scaled sums, and the two formats of scales.
#include "numerics/scaled_sum.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>
#include <vector>

#include "numerics/convert.h"

namespace pyptx::emu {
namespace {

constexpr u32 kGroup = 16;  // products that narrow blocks add exactly
constexpr int kGroupFractionBits = 35;

/// significand * 2^exponent, the significand in [1, 2) or below it for a subnormal scale.
struct Scale {
  double significand = 1;
  int exponent = 0;
  double value() const { return std::ldexp(significand, exponent); }
};

/// Nothing for NaN.
std::optional<Scale> decode_scale(u8 bits, bool is_ue4m3) {
  if (!is_ue4m3) {
    if (bits == 0xFF) return std::nullopt;
    return Scale{1, static_cast<int>(bits) - 127};
  }
  const u32 magnitude = bits & 0x7FU;
  if (magnitude == 0x7F) return std::nullopt;
  const int biased = static_cast<int>(magnitude >> 3);
  const double fraction = (magnitude & 7U) / 8.0;
  return biased == 0 ? Scale{fraction, -6} : Scale{1 + fraction, biased - 7};
}

struct Part {
  const float* a = nullptr;
  const float* b = nullptr;
  u32 stride = 1;
  u32 count = 0;
};

double dot(const Part& part) {
  double sum = 0;
  for (u32 i = 0; i < part.count; ++i) {
    sum +=
        static_cast<double>(part.a[i * part.stride]) * static_cast<double>(part.b[i * part.stride]);
  }
  return sum;
}

float dot_in_f32(const Part& part) {
  float sum = 0;
  for (u32 i = 0; i < part.count; ++i) {
    sum = std::fma(part.a[i * part.stride], part.b[i * part.stride], sum);
  }
  return sum;
}

float cut_to_f32(double value) {
  if (std::fabs(value) >= 0x1p128) return std::copysign(INFINITY, static_cast<float>(value));
  if (value == 0) return 0;
  return std::bit_cast<float>(static_cast<u32>(narrow(value, kF32, Round::Zero)));
}

int exact_exponent_of(float x, int least) {
  return x == 0 ? -4096 : std::max(std::ilogb(x), least);
}

float one_scale(const ScaledTerms& terms, int shift, const SumRule& rule) {
  int greatest = terms.c == 0 ? -4096 : exact_exponent_of(terms.c, rule.least_c);
  for (u32 i = 0; i < terms.count; ++i) {
    const float a = terms.a[i * terms.stride];
    const float b = terms.b[i * terms.stride];
    greatest = std::max(
        greatest, exact_exponent_of(a, rule.least_a) + exact_exponent_of(b, rule.least_b) + shift);
  }
  if (greatest < -2048) return 0;
  const int scale = rule.fraction_bits - greatest;
  double sum = std::trunc(std::ldexp(static_cast<double>(terms.c), scale));
  for (u32 i = 0; i < terms.count; ++i) {
    const double product = static_cast<double>(terms.a[i * terms.stride]) *
                           static_cast<double>(terms.b[i * terms.stride]);
    sum += std::trunc(std::ldexp(product, scale + shift));
  }
  return cut_to_f32(std::ldexp(sum, -scale));
}

}  // namespace

float scaled_sum(const ScaledTerms& terms, Numerics numerics, const SumRule& rule) {
  const float nan = std::bit_cast<float>(0x7FFFFFFFU);
  const u32 block = terms.count / terms.scales;
  const u32 step = terms.scales == 1 ? terms.count : std::min(block, kGroup);
  std::vector<double> significands{static_cast<double>(terms.c)};
  std::vector<int> exponents{terms.c == 0 ? -4096 : exact_exponent_of(terms.c, rule.least_c)};
  float in_f32 = terms.c;
  double plain = terms.c;
  int shift = 0;
  for (u32 first = 0; first < terms.count; first += step) {
    const auto x = decode_scale(terms.scale_a[first / block], terms.is_ue4m3);
    const auto y = decode_scale(terms.scale_b[first / block], terms.is_ue4m3);
    if (!x || !y) return nan;
    const Part part{terms.a + first * terms.stride, terms.b + first * terms.stride, terms.stride,
                    step};
    shift = x->exponent + y->exponent;
    const double sum = dot(part);
    plain += sum * x->value() * y->value();
    in_f32 += static_cast<float>(static_cast<double>(dot_in_f32(part)) * x->value() * y->value());
    significands.push_back(sum * x->significand * y->significand);
    exponents.push_back(shift);
  }
  if (std::isnan(plain)) return nan;
  if (std::isinf(plain)) return static_cast<float>(plain);
  if (numerics == Numerics::Fast) return in_f32;
  if (terms.scales == 1) return one_scale(terms, shift, rule);
  const int greatest = *std::ranges::max_element(exponents);
  if (greatest < -2048) return 0;
  const int scale = kGroupFractionBits - greatest;
  double sum = std::trunc(std::ldexp(significands[0], scale));  // C has its exponent in it
  for (std::size_t i = 1; i < significands.size(); ++i) {
    sum += std::trunc(std::ldexp(significands[i], scale + exponents[i]));
  }
  return cut_to_f32(std::ldexp(sum, -scale));
}

}  // namespace pyptx::emu
