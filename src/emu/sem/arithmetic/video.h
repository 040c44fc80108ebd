// SPDX-License-Identifier: Apache-2.0
//
// What scalar and SIMD video instructions share: operations, parts of a word, clamping.
#pragma once

#include <algorithm>

#include "sem/lane.h"

namespace pyptx::emu {

enum class VideoOp : u8 { Add, Sub, AbsDiff, Min, Max, Shl, Shr, Mad, Set, Average };

/// Some bits of a word, as a signed or an unsigned number.
struct Part {
  u8 first = 0;
  u8 bits = 32;
  bool is_signed = false;

  i64 of(u32 word) const {
    const u64 moved = static_cast<u64>(word) >> first;
    return is_signed ? sign_extended(moved, bits) : static_cast<i64>(low_bits(moved, bits));
  }
};

/// The nearest number of `bits` bits.
inline i64 clamped(i64 value, u32 bits, bool is_signed) {
  const i64 high = static_cast<i64>(low_bits(~0ULL, is_signed ? bits - 1 : bits));
  return std::clamp(value, is_signed ? -high - 1 : 0, high);
}

/// What both kinds do alike; 0 for the operations that only one of them has.
inline i64 combined(VideoOp op, i64 a, i64 b) {
  switch (op) {
    case VideoOp::Add:
      return a + b;
    case VideoOp::Sub:
      return a - b;
    case VideoOp::AbsDiff:
      return a < b ? b - a : a - b;
    case VideoOp::Min:
      return std::min(a, b);
    case VideoOp::Max:
      return std::max(a, b);
    default:
      return 0;
  }
}

/// The low `bits` of a value, as a number.
inline i64 wrapped(i64 value, u32 bits, bool is_signed) {
  const u64 raw = static_cast<u64>(value);
  return is_signed ? sign_extended(raw, bits) : static_cast<i64>(low_bits(raw, bits));
}

}  // namespace pyptx::emu
