// SPDX-License-Identifier: Apache-2.0
//
// Rounding doubles to the 16-bit formats and picking literal forms. See literals.h.
#include "literals.h"

#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include "types.h"

namespace pyptx::build {
namespace {

struct Format {
  int mantissa;  // stored bits
  int exponent;  // bits
};

/// Rounds a double straight to a narrow format: going through float would round twice.
std::uint16_t round_to(double value, Format format) {
  const int bias = (1 << (format.exponent - 1)) - 1;
  const auto sign = static_cast<std::uint16_t>(std::signbit(value) ? 0x8000U : 0U);
  const auto infinity =
      static_cast<std::uint16_t>(((1U << format.exponent) - 1) << format.mantissa);
  if (std::isnan(value)) {
    return static_cast<std::uint16_t>(sign | infinity | (1U << (format.mantissa - 1)));
  }
  if (std::isinf(value)) return static_cast<std::uint16_t>(sign | infinity);
  const double magnitude = std::abs(value);
  if (magnitude == 0) return sign;
  int exponent = 0;
  std::frexp(magnitude, &exponent);             // magnitude = m * 2^exponent, m in [0.5, 1)
  exponent = std::max(exponent - 1, 1 - bias);  // subnormals share the lowest exponent
  const double units = std::nearbyint(std::ldexp(magnitude, format.mantissa - exponent));
  // A carry out of the mantissa moves into the exponent field by itself.
  const auto scaled = static_cast<std::uint64_t>(units);
  const std::uint64_t hidden = std::uint64_t{1} << format.mantissa;
  const std::uint64_t bits =
      scaled < hidden
          ? scaled
          : (static_cast<std::uint64_t>(exponent + bias - 1) << format.mantissa) + scaled;
  if (bits >= infinity) return static_cast<std::uint16_t>(sign | infinity);
  return static_cast<std::uint16_t>(sign | bits);
}

}  // namespace

std::uint16_t f16_bits(double value) { return round_to(value, {10, 5}); }
std::uint16_t bf16_bits(double value) { return round_to(value, {7, 8}); }

std::optional<std::uint32_t> half_bits(double value, isa::Type type) {
  constexpr std::uint32_t kBoth = 0x00010001;
  switch (type) {
    case isa::Type::F16:
      return f16_bits(value);
    case isa::Type::Bf16:
      return bf16_bits(value);
    case isa::Type::F16x2:
      return f16_bits(value) * kBoth;
    case isa::Type::Bf16x2:
      return bf16_bits(value) * kBoth;
    default:
      return std::nullopt;
  }
}

bool overflows(double value, isa::Type type) {
  constexpr std::uint32_t kMagnitude = 0x7fff;
  if (!std::isfinite(value)) return false;
  if (type == isa::Type::F32 || type == isa::Type::Tf32) {
    return std::abs(value) > std::numeric_limits<float>::max();
  }
  const auto half = half_bits(value, type);
  return half && (*half & kMagnitude) == (*half_bits(HUGE_VAL, type) & kMagnitude);
}

std::string text_of(double value) {
  std::array<char, 32> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
  return {text.data(), end};
}

ir::Operand fit_float(ir::Operand literal, isa::Type type) {
  const auto value = std::bit_cast<double>(literal.value);
  const isa::TypeInfo& facts = isa::info(type);
  if (facts.bits == 32 && !is_packed(type)) return ir::Operand::f32(static_cast<float>(value));
  return literal;
}

}  // namespace pyptx::build
