// SPDX-License-Identifier: Apache-2.0
//
// Binary floating-point formats and correctly rounded conversion between them, in integers: one
// description per format, one rounding routine for all. Checked against the host where the host
// has the format.
#pragma once

#include <bit>
#include <cmath>
#include <limits>

#include "decode/program.h"

namespace pyptx::emu {

struct Format {
  int exponent_bits = 0;
  int fraction_bits = 0;
  bool has_infinity = true;  // e4m3: the top exponent holds numbers, only all ones is NaN
  u64 nan = 0;               // the canonical NaN
  bool has_nan = true;       // e2m1 and the 6-bit formats: every pattern is a number

  constexpr int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  constexpr int maximum_exponent() const { return (1 << exponent_bits) - 1; }
  constexpr int bits() const { return 1 + exponent_bits + fraction_bits; }
  constexpr u64 sign() const { return 1ULL << (bits() - 1); }
  constexpr u64 infinity() const { return static_cast<u64>(maximum_exponent()) << fraction_bits; }
  /// The largest finite number.
  constexpr u64 largest() const {
    return has_infinity ? infinity() - 1 : sign() - (has_nan ? 2 : 1);
  }
};

inline constexpr Format kF64{11, 52, true, 0xFFF8000000000000ULL};
inline constexpr Format kF32{8, 23, true, 0x7FFFFFFFU};
inline constexpr Format kF16{5, 10, true, 0x7FFFU};
inline constexpr Format kBF16{8, 7, true, 0x7FFFU};
inline constexpr Format kE5M2{5, 2, true, 0x7FU};
inline constexpr Format kE4M3{4, 3, false, 0x7FU};
/// Formats without a NaN: one becomes the largest number.
inline constexpr Format kE3M2{3, 2, false, 0x1FU, false};
inline constexpr Format kE2M3{2, 3, false, 0x1FU, false};
inline constexpr Format kE2M1{2, 1, false, 0x7U, false};
/// Unsigned: the sign is bit 8, which is never stored.
inline constexpr Format kUE5M3{5, 3, false, 0xFFU};

/// A finite number: (-1)^negative * significand * 2^exponent.
struct Number {
  bool negative = false;
  u64 significand = 0;
  int exponent = 0;
};

/// Rounds to `format`. `is_sticky`: the true value lies a little above the significand.
inline u64 round_to(Number number, bool is_sticky, const Format& format, Round mode,
                    bool saturate_finite = false) {
  const u64 sign = number.negative ? format.sign() : 0;
  if (number.significand == 0) return sign;
  const int shift = std::countl_zero(number.significand);
  number.significand <<= shift;
  number.exponent -= shift;
  // Value = significand * 2^exponent with the leading bit at 63.
  int biased = number.exponent + 63 + format.bias();
  int drop = 63 - format.fraction_bits;
  if (biased <= 0) {
    drop += 1 - biased;
    biased = 0;
  }
  u64 kept = 0;
  bool half = false;
  bool rest = is_sticky;
  if (drop <= 63) {
    kept = number.significand >> drop;
    half = ((number.significand >> (drop - 1)) & 1U) != 0;
    rest = rest || (number.significand & ((1ULL << (drop - 1)) - 1)) != 0;
  } else {
    half = drop == 64 && (number.significand >> 63) != 0;
    rest = rest || drop > 64 || (number.significand << 1) != 0;
  }
  bool up = false;
  switch (mode) {
    case Round::Nearest:
      up = half && (rest || (kept & 1U) != 0);
      break;
    case Round::NearestAway:
      up = half;
      break;
    case Round::Zero:
      break;
    case Round::Down:
      up = number.negative && (half || rest);
      break;
    case Round::Up:
      up = !number.negative && (half || rest);
      break;
  }
  // The implicit bit adds one to a biased exponent of one less: normal and subnormal alike.
  u64 bits = biased == 0 ? kept : (static_cast<u64>(biased - 1) << format.fraction_bits) + kept;
  bits += up ? 1U : 0U;
  if (bits > format.largest()) {
    const bool to_largest = saturate_finite || mode == Round::Zero ||
                            (mode == Round::Down && !number.negative) ||
                            (mode == Round::Up && number.negative);
    bits = to_largest ? format.largest() : format.has_infinity ? format.infinity() : format.nan;
  }
  return sign | bits;
}

inline Number decompose(double value) {
  const u64 bits = std::bit_cast<u64>(value);
  const int biased = static_cast<int>((bits >> 52) & 0x7FFU);
  const u64 fraction = bits & ((1ULL << 52) - 1);
  return {(bits >> 63) != 0, biased == 0 ? fraction : fraction | 1ULL << 52,
          (biased == 0 ? 1 : biased) - 1075};
}

/// A double as `format`; NaN becomes the canonical NaN.
inline u64 narrow(double value, const Format& format, Round mode, bool saturate_finite = false) {
  if (std::isnan(value)) return format.nan;
  if (std::isinf(value)) {
    const u64 sign = std::signbit(value) ? format.sign() : 0;
    if (saturate_finite) return sign | format.largest();
    return format.has_infinity ? sign | format.infinity() : sign | format.nan;
  }
  return round_to(decompose(value), false, format, mode, saturate_finite);
}

/// Every format here is exact in double.
inline double widen(u64 bits, const Format& format) {
  const bool negative = (bits & format.sign()) != 0;
  const u64 magnitude = bits & (format.sign() - 1);
  const int biased = static_cast<int>(magnitude >> format.fraction_bits);
  const u64 fraction = magnitude & ((1ULL << format.fraction_bits) - 1);
  double value = 0;
  if (format.has_infinity && biased == format.maximum_exponent()) {
    value = fraction == 0 ? std::numeric_limits<double>::infinity()
                          : std::numeric_limits<double>::quiet_NaN();
  } else if (!format.has_infinity && format.has_nan && magnitude == format.sign() - 1) {
    value = std::numeric_limits<double>::quiet_NaN();
  } else if (biased == 0) {
    value = std::ldexp(static_cast<double>(fraction), 1 - format.bias() - format.fraction_bits);
  } else {
    value = std::ldexp(static_cast<double>(fraction | 1ULL << format.fraction_bits),
                       biased - format.bias() - format.fraction_bits);
  }
  return negative ? -value : value;
}

inline float half_to_float(u16 bits) { return static_cast<float>(widen(bits, kF16)); }
inline float bfloat_to_float(u16 bits) {
  return std::bit_cast<float>(static_cast<u32>(bits) << 16);
}

/// a + b rounded to odd: rounding the result again to a shorter format is then correct. `mode` is
/// that of the rounding to come: it decides the sign of a sum that is zero.
inline double add_to_odd(double a, double b, Round mode = Round::Nearest) {
  const double sum = a + b;
  if (!std::isfinite(sum)) return sum;
  if (sum == 0 && mode == Round::Down && std::signbit(a) != std::signbit(b)) return -0.0;
  const double part = sum - a;
  const double error = (a - (sum - part)) + (b - part);
  const u64 bits = std::bit_cast<u64>(sum);
  if (error == 0 || (bits & 1U) != 0) return sum;
  // The true value lies on the side of `error`; the odd neighbour there stands for it.
  const bool away = (error > 0) == (sum > 0);
  return std::bit_cast<double>(away ? bits + 1 : bits - 1);
}

}  // namespace pyptx::emu
