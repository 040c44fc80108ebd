// SPDX-License-Identifier: Apache-2.0
//
// What setp, set and the video comparisons share: the comparisons, and how a result is combined
// with a predicate.
#pragma once

#include <optional>

#include "decode/lowering.h"

namespace pyptx::emu {

enum class Cmp : u8 { Eq, Ne, Lt, Le, Gt, Ge, Equ, Neu, Ltu, Leu, Gtu, Geu, Num, Nan };
enum class Combine : u8 { None, And, Or, Xor };

/// Every comparison with a NaN is false but !=, so `a <= b || a > b` says that neither is one.
template <typename T>
constexpr bool holds(Cmp cmp, T a, T b) {
  switch (cmp) {
    case Cmp::Eq:
      return a == b;
    case Cmp::Ne:
      return a < b || a > b;
    case Cmp::Lt:
      return a < b;
    case Cmp::Le:
      return a <= b;
    case Cmp::Gt:
      return a > b;
    case Cmp::Ge:
      return a >= b;
    case Cmp::Equ:
      return !(a < b || a > b);
    case Cmp::Neu:
      return a != b;
    case Cmp::Ltu:
      return !(a >= b);
    case Cmp::Leu:
      return !(a > b);
    case Cmp::Gtu:
      return !(a <= b);
    case Cmp::Geu:
      return !(a < b);
    case Cmp::Num:
      return a <= b || a > b;
    case Cmp::Nan:
      return !(a <= b || a > b);
  }
  return false;
}

inline u32 combined(Combine kind, u32 value, u32 c) {
  switch (kind) {
    case Combine::And:
      return value & c;
    case Combine::Or:
      return value | c;
    case Combine::Xor:
      return value ^ c;
    default:
      return value;
  }
}

/// Writes p (and q, its complement) from `value`, after BoolOp with c.
Step write_predicate(Warp& warp, const Inst& inst, u32 mask, u32 value);

/// Consumes the comparison; .lo .ls .hi .hs are those of unsigned types.
std::optional<Cmp> take_compare(Lowering& low, bool is_unsigned);
/// Consumes .and, .or, .xor.
Combine take_combine(Lowering& low);

}  // namespace pyptx::emu
