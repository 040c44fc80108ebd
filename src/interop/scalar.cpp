// SPDX-License-Identifier: Apache-2.0
//
// Numbers as bits (see the header).
#include "pyptx/interop/scalar.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdio>

namespace pyptx::interop {
namespace {

using ScalarKind = ScalarType::Kind;

constexpr std::array kTypes = {
    ScalarType{"b8", ScalarKind::Unsigned, 1},
    ScalarType{"b16", ScalarKind::Unsigned, 2},
    ScalarType{"b32", ScalarKind::Unsigned, 4},
    ScalarType{"b64", ScalarKind::Unsigned, 8},
    ScalarType{"u8", ScalarKind::Unsigned, 1},
    ScalarType{"u16", ScalarKind::Unsigned, 2},
    ScalarType{"u32", ScalarKind::Unsigned, 4},
    ScalarType{"u64", ScalarKind::Unsigned, 8},
    ScalarType{"s8", ScalarKind::Signed, 1},
    ScalarType{"s16", ScalarKind::Signed, 2},
    ScalarType{"s32", ScalarKind::Signed, 4},
    ScalarType{"s64", ScalarKind::Signed, 8},
    ScalarType{"f16", ScalarKind::Float, 2, 11, -13, 16},
    ScalarType{"f32", ScalarKind::Float, 4, 24, -125, 128},
    ScalarType{"f64", ScalarKind::Float, 8, 53, -1021, 1024},
    ScalarType{"bf16", ScalarKind::Float, 2, 8, -125, 128},
    ScalarType{"tf32", ScalarKind::Float, 4, 11, -125, 128},
};

std::uint64_t mask(const ScalarType& type) { return ~std::uint64_t{0} >> (64 - 8 * type.size); }

/// The number of that type that is nearest: a step of its last place, times a whole number.
double nearest(const ScalarType& type, double value) {
  int exponent = 0;
  std::frexp(value, &exponent);
  const int unit = std::max(exponent, type.least) - type.significant;
  // Exact but for the rounding: a double's 53 bits are moved, never down to where they are lost.
  return std::copysign(std::ldexp(std::nearbyint(std::ldexp(value, -unit)), unit), value);
}

/// Of a number that an f16 is.
std::uint64_t half_bits(const ScalarType& type, double value) {
  const std::uint64_t sign = std::signbit(value) ? 0x8000 : 0;
  if (std::isnan(value)) return sign | 0x7e00;  // one quiet NaN: a payload would not fit
  if (std::isinf(value)) return sign | 0x7c00;
  int exponent = 0;
  std::frexp(value, &exponent);
  if (exponent < type.least || value == 0) {
    return sign | static_cast<std::uint64_t>(std::ldexp(std::fabs(value), 24));
  }
  const auto fraction =
      static_cast<std::uint64_t>(std::ldexp(std::fabs(value), type.significant - exponent));
  const int biased = exponent - type.least + 1;
  return sign | (static_cast<std::uint64_t>(biased) << 10) | (fraction & 0x3ff);
}

std::optional<std::uint64_t> float_bits(const ScalarType& type, double value) {
  if (type.size == 8) return std::bit_cast<std::uint64_t>(value);
  if (std::isfinite(value)) {
    value = nearest(type, value);
    int exponent = 0;
    std::frexp(value, &exponent);
    if (exponent > type.most) return std::nullopt;
  }
  if (type.name == "f16") return half_bits(type, value);
  // Exact now, but for a NaN, whose payload is cut as the processor cuts it.
  const std::uint64_t bits = std::bit_cast<std::uint32_t>(static_cast<float>(value));
  return bits >> (32 - 8 * type.size);
}

std::optional<std::uint64_t> unsigned_bits(const ScalarType& type, std::uint64_t value) {
  if (type.kind == ScalarKind::Float) return std::nullopt;
  const std::uint64_t most = type.kind == ScalarKind::Signed ? mask(type) >> 1 : mask(type);
  return value <= most ? std::optional(value) : std::nullopt;
}

std::optional<std::uint64_t> negative_bits(const ScalarType& type, std::int64_t value) {
  const auto bits = static_cast<std::uint64_t>(value);
  if (type.kind != ScalarKind::Signed || ~bits > mask(type) >> 1) return std::nullopt;
  return bits & mask(type);
}

}  // namespace

std::span<const ScalarType> scalar_types() { return kTypes; }

const ScalarType* find_scalar_type(std::string_view name) {
  const auto* found = std::ranges::find(kTypes, name, &ScalarType::name);
  return found == kTypes.end() ? nullptr : found;
}

Number Number::of_bits(std::uint64_t bits) {
  Number out(bits);
  out.kind_ = Kind::Bits;
  return out;
}

std::optional<std::uint64_t> Number::bits(const ScalarType& type) const {
  if (kind_ == Kind::Bits) return bits_ <= mask(type) ? std::optional(bits_) : std::nullopt;
  const auto as_signed = static_cast<std::int64_t>(bits_);
  if (type.kind == ScalarType::Kind::Float) {
    if (kind_ == Kind::Float) return float_bits(type, real_);
    return float_bits(
        type, kind_ == Kind::Signed ? static_cast<double>(as_signed) : static_cast<double>(bits_));
  }
  if (kind_ == Kind::Float) return std::nullopt;
  if (kind_ == Kind::Signed && as_signed < 0) return negative_bits(type, as_signed);
  return unsigned_bits(type, bits_);
}

std::string Number::text() const {
  if (kind_ == Kind::Signed) return std::to_string(static_cast<std::int64_t>(bits_));
  if (kind_ != Kind::Float) return std::to_string(bits_);
  char digits[32];
  const int length = std::snprintf(digits, sizeof(digits), "%.17g", real_);
  return {digits, static_cast<std::size_t>(length)};
}

std::optional<Number> read_number_text(std::string_view text) {
  const char* const begin = text.data();
  const char* const end = begin + text.size();
  const auto read = [&](auto value) -> std::optional<Number> {
    const auto [stop, error] = std::from_chars(begin, end, value);
    if (error != std::errc{} || stop != end) return std::nullopt;
    return Number(value);
  };
  if (const auto whole = read(std::int64_t{0})) return whole;
  if (const auto large = read(std::uint64_t{0})) return large;
  return read(0.0);
}

diag::Result<std::uint64_t> argument_bits(const ScalarParameter& parameter, const Number& number,
                                          std::string_view kernel) {
  if (const auto bits = number.bits(*parameter.type)) return *bits;
  return diag::fail(diag::Kind::ScalarValue, {parameter.name, std::string(kernel),
                                              std::string(parameter.type->name), number.text()});
}

}  // namespace pyptx::interop
