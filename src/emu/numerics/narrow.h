// SPDX-License-Identifier: Apache-2.0
//
// Elements of the packed 8-, 6- and 4-bit types, and of the scale and fixed-point types that go
// with them: how wide an element is in its register, its value, and a value rounded to it.
#pragma once

#include <algorithm>

#include "decode/types.h"
#include "numerics/convert.h"

namespace pyptx::emu {

enum class NarrowKind : u8 { Float, Scale, Fixed };

struct Narrow {
  NarrowKind kind = NarrowKind::Float;
  const Format* format = nullptr;
  u32 slot = 8;  // bits from one element to the next
  u32 bits = 8;  // of the value
  bool is_unsigned = false;
};

/// Null format and kind Float: not a narrow type.
inline Narrow narrow_of(Ty type) {
  switch (type) {
    case Ty::E4m3x2:
    case Ty::E4m3x4:
      return {NarrowKind::Float, &kE4M3, 8, 8, false};
    case Ty::E5m2x2:
    case Ty::E5m2x4:
      return {NarrowKind::Float, &kE5M2, 8, 8, false};
    case Ty::E3m2x2:
    case Ty::E3m2x4:
      return {NarrowKind::Float, &kE3M2, 8, 6, false};
    case Ty::E2m3x2:
    case Ty::E2m3x4:
      return {NarrowKind::Float, &kE2M3, 8, 6, false};
    case Ty::E2m1x2:
    case Ty::E2m1x4:
      return {NarrowKind::Float, &kE2M1, 4, 4, false};
    case Ty::E2m1p4x4:
      return {NarrowKind::Float, &kE2M1, 8, 4, false};
    case Ty::Ue5m3x2:
      return {NarrowKind::Float, &kUE5M3, 8, 8, true};
    case Ty::Ue8m0x2:
    case Ty::Ue8m0x4:
      return {NarrowKind::Scale, nullptr, 8, 8, true};
    case Ty::S2f6x2:
      return {NarrowKind::Fixed, nullptr, 8, 8, false};
    case Ty::F16:
    case Ty::F16x2:
      return {NarrowKind::Float, &kF16, 16, 16, false};
    case Ty::Bf16:
    case Ty::Bf16x2:
      return {NarrowKind::Float, &kBF16, 16, 16, false};
    default:
      return {};
  }
}

/// The value of a scale: 2^(bits - 127), NaN for 0xFF.
inline double scale_value(u32 bits) {
  return bits == 0xFF ? std::numeric_limits<double>::quiet_NaN()
                      : std::ldexp(1.0, static_cast<int>(bits) - 127);
}

inline double value_of(const Narrow& narrow, u64 word, u32 index) {
  const u64 bits = (word >> (narrow.slot * index)) & ((1ULL << narrow.bits) - 1);
  if (narrow.kind == NarrowKind::Scale) return scale_value(static_cast<u32>(bits));
  if (narrow.kind == NarrowKind::Fixed) return static_cast<double>(static_cast<i8>(bits)) / 64.0;
  return widen(bits, *narrow.format);
}

/// The power of two at or beyond a value; .rp: not below it, .rz: not above.
inline u64 round_to_scale(double value, Round mode) {
  if (std::isnan(value)) return 0xFF;
  const double magnitude = std::fabs(value);
  if (std::isinf(magnitude)) return 0xFE;
  if (magnitude < 0x1p-127) return 0;
  int exponent = std::ilogb(magnitude);
  if (mode == Round::Up && std::ldexp(1.0, exponent) < magnitude) ++exponent;
  return static_cast<u64>(std::clamp(exponent + 127, 0, 0xFE));
}

/// s2f6: two's complement with six bits of fraction; saturates.
inline u64 round_to_fixed(double value, Round mode) {
  if (std::isnan(value)) return 0x7F;
  const double scaled = std::clamp(value * 64.0, -256.0, 256.0);
  const double whole = mode == Round::Zero ? std::trunc(scaled) : std::nearbyint(scaled);
  return static_cast<u8>(static_cast<i8>(std::clamp(whole, -128.0, 127.0)));
}

struct NarrowModes {
  Round round = Round::Nearest;
  bool satfinite = false;
  bool relu = false;
  bool positive_zero = false;  // .pzo
};

/// A value as the bits of one element.
inline u64 rounded(const Narrow& narrow, double value, const NarrowModes& modes) {
  if (modes.relu && value < 0) value = 0;
  if (narrow.kind == NarrowKind::Scale) return round_to_scale(value, modes.round);
  if (narrow.kind == NarrowKind::Fixed) return round_to_fixed(value, modes.round);
  const Format& format = *narrow.format;
  if (narrow.is_unsigned) value = std::fabs(value);
  u64 bits = emu::narrow(value, format, modes.round, modes.satfinite);
  const bool is_zero = (bits & (format.sign() - 1)) == 0;
  if (is_zero && (modes.positive_zero || modes.relu)) bits = 0;
  return bits;
}

}  // namespace pyptx::emu
