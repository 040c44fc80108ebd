// SPDX-License-Identifier: Apache-2.0
//
// The model of tensor_sum.h, one output at a time, and the table of its parameters.
#include "numerics/tensor_sum.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "numerics/convert.h"

namespace pyptx::emu {
namespace {

/// Of a zero C: what an H200 shows, to within one or two.
constexpr int kLeastExponent = -133;

constexpr float canonical_nan() { return std::bit_cast<float>(0x7FFFFFFFU); }

bool is_byte_float(Element element) {
  return info(element).bits <= 8 && !info(element).is_integer && element != Element::None;
}

/// floor(log2 |x|), not below `least`; the exponent that hardware has beside the significand.
int exponent_of(float x, int least) {
  const u32 biased = (std::bit_cast<u32>(x) >> 23) & 0xFFU;
  return std::max(static_cast<int>(biased == 0 ? 1 : biased) - 127, least);
}

/// A sum that rounds to zero is +0.
float to_half(double value) {
  const auto half = static_cast<float>(widen(narrow(value, kF16, Round::Nearest), kF16));
  return half == 0 ? 0 : half;
}

/// wgmma and tcgen05 came with Hopper and Blackwell, whoever is asked for.
bool is_before_hopper(const SumRequest& request) {
  return request.unit == MatrixUnit::Mma && request.core <= TensorCore::Ada;
}

/// Products of one sum: all of them, or what one step of the older pipelines takes, 16 bytes of A.
u16 chunk_of(const SumRequest& request) {
  const u32 step = std::max(128U / info(request.a).bits, 1U);
  return static_cast<u16>(is_before_hopper(request) ? std::min(request.depth, step)
                                                    : request.depth);
}

}  // namespace

SumRule sum_rule(const SumRequest& request) {
  SumRule rule;
  rule.output = request.is_half_output ? SumRule::Output::F16 : SumRule::Output::F32;
  rule.least_a = info(request.a).least_exponent;
  rule.least_b = info(request.b).least_exponent;
  rule.least_c = request.is_half_output ? i16{-14} : i16{-126};
  rule.fraction_bits = is_before_hopper(request) ? 24 : 25;
  rule.chunk = chunk_of(request);
  if (!is_byte_float(request.a)) return rule;
  const bool is_short = request.unit == MatrixUnit::Wgmma ||
                        (request.unit == MatrixUnit::Mma && request.core == TensorCore::Ada);
  if (is_short) {
    rule.fraction_bits = 13;
    if (!request.is_half_output) rule.output = SumRule::Output::ShortF32;
  } else if (request.unit == MatrixUnit::Mma &&
             (request.core == TensorCore::Hopper || request.core == TensorCore::Blackwell)) {
    // There is no such instruction: ptxas converts to f16 and multiplies twice.
    rule.chunk = static_cast<u16>(request.depth / 2);
    rule.least_a = rule.least_b = info(Element::F16).least_exponent;
    rule.adds_c_last = true;
    rule.takes_pairs_apart = true;
  }
  return rule;
}

float tensor_sum(const SumTerms& terms, const SumRule& rule) {
  double plain = terms.c;
  // A zero C has an exponent too; a product with a zero has none.
  int greatest = terms.c == 0 ? kLeastExponent : exponent_of(terms.c, rule.least_c);
  for (u32 i = 0; i < terms.count; ++i) {
    const float a = terms.a[i * terms.stride];
    const float b = terms.b[i * terms.stride];
    plain += static_cast<double>(a) * static_cast<double>(b);
    if (a == 0 || b == 0) continue;
    greatest = std::max(greatest, exponent_of(a, rule.least_a) + exponent_of(b, rule.least_b));
  }
  if (std::isnan(plain)) return canonical_nan();
  if (std::isinf(plain)) return static_cast<float>(plain);
  const int scale = rule.fraction_bits - greatest;
  i64 sum = static_cast<i64>(std::ldexp(static_cast<double>(terms.c), scale));
  for (u32 i = 0; i < terms.count; ++i) {
    const double product = static_cast<double>(terms.a[i * terms.stride]) *
                           static_cast<double>(terms.b[i * terms.stride]);
    sum += static_cast<i64>(std::ldexp(product, scale));  // the conversion cuts toward zero
  }
  const double exact = std::ldexp(static_cast<double>(sum), -scale);
  if (rule.output == SumRule::Output::F16) return to_half(exact);
  if (std::fabs(exact) >= 0x1p128) return std::copysign(INFINITY, static_cast<float>(sum));
  const auto bits = static_cast<u32>(narrow(exact, kF32, Round::Zero));
  // A subnormal result has as many fraction bits as there are.
  const u32 kept = rule.output == SumRule::Output::ShortF32 ? ~0x3FFU : ~0U;
  const auto result = std::bit_cast<float>(bits & kept);
  return result == 0 ? 0 : result;  // +0
}

float add_rounded(float c, float sum, const SumRule& rule) {
  const double exact = static_cast<double>(c) + static_cast<double>(sum);
  if (std::isnan(exact)) return canonical_nan();
  if (rule.output != SumRule::Output::F16) return c + sum;
  return static_cast<float>(widen(narrow(exact, kF16, Round::Nearest), kF16));
}

TensorCore tensor_core_of(const ir::Module& module) {
  const int sm = static_cast<int>(module.target.sm);
  if (sm < 80) return TensorCore::Turing;
  if (sm < 89) return TensorCore::Ampere;
  if (sm < 90) return TensorCore::Ada;
  if (sm < 100) return TensorCore::Hopper;
  return sm < 120 ? TensorCore::Blackwell : TensorCore::BlackwellRtx;
}

}  // namespace pyptx::emu
