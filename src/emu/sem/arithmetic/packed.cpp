// SPDX-License-Identifier: Apache-2.0
//
// Packed 8- and 16-bit integers, saturating arithmetic, predicate logic.
#include "sem/arithmetic/packed.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "decode/lowering.h"
#include "sem/lanes.h"

namespace pyptx::emu {
namespace {

enum class After : u8 { Wrap, Saturate, Relu };

/// The same operation on every element of type T.
template <typename T, Op kOp, After kAfter>
struct Packed {
  u32 operator()(u32 a, u32 b) const {
    constexpr u32 kBits = sizeof(T) * 8;
    u32 result = 0;
    for (u32 shift = 0; shift < 32; shift += kBits) {
      const i32 r = one(static_cast<T>(a >> shift), static_cast<T>(b >> shift));
      result |= static_cast<u32>(static_cast<std::make_unsigned_t<T>>(r)) << shift;
    }
    return result;
  }
  static i32 one(i32 a, i32 b) {
    const i32 r = kOp == Op::Add   ? a + b
                  : kOp == Op::Sub ? a - b
                  : kOp == Op::Neg ? -a
                  : kOp == Op::Min ? std::min(a, b)
                                   : std::max(a, b);
    if (kAfter == After::Relu) return std::max(r, 0);
    using Limits = std::numeric_limits<T>;
    return kAfter == After::Saturate ? std::clamp<i32>(r, Limits::min(), Limits::max()) : r;
  }
};

template <typename T, After kAfter>
Handler packed_of(Op op) {
  switch (op) {
    case Op::Add:
      return &map2<Packed<T, Op::Add, kAfter>, u32, u32>;
    case Op::Sub:
      return &map2<Packed<T, Op::Sub, kAfter>, u32, u32>;
    case Op::Neg:
      return &map2<Packed<T, Op::Neg, kAfter>, u32, u32>;
    case Op::Min:
      return &map2<Packed<T, Op::Min, kAfter>, u32, u32>;
    case Op::Max:
      return &map2<Packed<T, Op::Max, kAfter>, u32, u32>;
    default:
      return nullptr;
  }
}

template <typename T>
Handler packed_of(Op op, bool saturates, bool relu) {
  if (relu) return packed_of<T, After::Relu>(op);
  return saturates ? packed_of<T, After::Saturate>(op) : packed_of<T, After::Wrap>(op);
}

i32 clamp32(i64 value) { return static_cast<i32>(std::clamp<i64>(value, INT32_MIN, INT32_MAX)); }
struct AddSat {
  i32 operator()(i32 a, i32 b) const { return clamp32(i64{a} + b); }
};
struct AddSatUnsigned {
  u32 operator()(u32 a, u32 b) const { return a + b < a ? ~0U : a + b; }
};
struct SubSat {
  i32 operator()(i32 a, i32 b) const { return clamp32(i64{a} - b); }
};
struct MadHighSat {
  i32 operator()(i32 a, i32 b, i32 c) const { return clamp32((i64{a} * b >> 32) + c); }
};
struct MinRelu {
  i32 operator()(i32 a, i32 b) const { return std::max(std::min(a, b), 0); }
};
struct MaxRelu {
  i32 operator()(i32 a, i32 b) const { return std::max(std::max(a, b), 0); }
};

template <Op kOp>
Step predicate_logic(Warp& warp, const Inst& inst, u32 mask) {
  const u32 a = warp.predicate(inst.a) ^ inst.flip;
  const u32 b = kOp == Op::Not ? 0 : warp.predicate(inst.b) ^ inst.e;
  const u32 value = kOp == Op::And ? a & b : kOp == Op::Or ? a | b : kOp == Op::Xor ? a ^ b : ~a;
  u32& d = warp.predicate(inst.d);
  d = (d & ~mask) | (value & mask);
  return Step::Next;
}

}  // namespace

Handler packed_handler(Lowering& low, Op op, Ty type) {
  const bool relu = low.take("relu");
  const bool saturates = low.take("sat");
  if (low.count() < 3) low.out.b = low.out.a;
  switch (type) {
    case Ty::U16x2:
      return packed_of<u16>(op, saturates, relu);
    case Ty::S16x2:
      return packed_of<i16>(op, saturates, relu);
    case Ty::U8x4:
      return packed_of<u8>(op, saturates, relu);
    default:
      return packed_of<i8>(op, saturates, relu);
  }
}

Handler saturating_handler(Op op, Ty type) {
  if (type == Ty::U32 && op == Op::Add) return &map2<AddSatUnsigned, u32, u32>;
  if (type != Ty::S32) return nullptr;
  if (op == Op::Add) return &map2<AddSat, i32, i32>;
  if (op == Op::Sub) return &map2<SubSat, i32, i32>;
  return op == Op::MadHigh ? &map3<MadHighSat, i32, i32> : nullptr;
}

Handler relu_handler(Op op) {
  return op == Op::Min ? &map2<MinRelu, i32, i32> : &map2<MaxRelu, i32, i32>;
}

Handler predicate_logic_handler(Op op) {
  switch (op) {
    case Op::And:
      return &predicate_logic<Op::And>;
    case Op::Or:
      return &predicate_logic<Op::Or>;
    case Op::Xor:
      return &predicate_logic<Op::Xor>;
    case Op::Not:
      return &predicate_logic<Op::Not>;
    default:
      return nullptr;
  }
}

}  // namespace pyptx::emu
