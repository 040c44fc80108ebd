// SPDX-License-Identifier: Apache-2.0
//
// Packed 16-bit integers, saturating arithmetic, predicate logic, approximate division.
#include "sem/packed.h"

#include <algorithm>
#include <cmath>

#include "lanes.h"
#include "lowering.h"

namespace pyptx::emu {
namespace {

template <typename T, Op kOp, bool kRelu>
struct Packed {
  u32 operator()(u32 a, u32 b) const { return half(a, b) | half(a >> 16, b >> 16) << 16; }
  static u32 half(u32 x, u32 y) {
    const T a = static_cast<T>(x);
    const T b = static_cast<T>(y);
    T r = kOp == Op::Add   ? static_cast<T>(a + b)
          : kOp == Op::Sub ? static_cast<T>(a - b)
          : kOp == Op::Min ? std::min(a, b)
                           : std::max(a, b);
    if (kRelu) r = std::max<T>(r, 0);
    return static_cast<u16>(r);
  }
};

template <typename T, bool kRelu>
Handler packed_of(Op op) {
  switch (op) {
    case Op::Add:
      return &map2<Packed<T, Op::Add, false>, u32, u32>;
    case Op::Sub:
      return &map2<Packed<T, Op::Sub, false>, u32, u32>;
    case Op::Min:
      return &map2<Packed<T, Op::Min, kRelu>, u32, u32>;
    case Op::Max:
      return &map2<Packed<T, Op::Max, kRelu>, u32, u32>;
    default:
      return nullptr;
  }
}

i32 clamp32(i64 value) { return static_cast<i32>(std::clamp<i64>(value, INT32_MIN, INT32_MAX)); }
struct AddSat {
  i32 operator()(i32 a, i32 b) const { return clamp32(i64{a} + b); }
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

/// div.approx.f32 is a * rcp(b); for |b| in (2^126, 2^128) the reciprocal flushes to zero.
template <bool kFtz>
struct ApproxDiv {
  float operator()(float a, float b) const {
    const auto flush = [](float v) {
      return kFtz && std::fabs(v) < 0x1p-126F ? std::copysign(0.0F, v) : v;
    };
    const float x = flush(a);
    const float y = flush(b);
    if (std::fabs(y) > 0x1p126F && !std::isinf(y)) {
      return std::isinf(x) ? std::bit_cast<float>(0x7FFFFFFFU)
                           : std::copysign(0.0F, x) * std::copysign(1.0F, y);
    }
    const float q = flush(x / y);
    return q == q ? q : std::bit_cast<float>(0x7FFFFFFFU);
  }
};

}  // namespace

Handler packed_handler(Lowering& low, Op op, Ty type) {
  const bool relu = low.take("relu");
  if (type == Ty::U16x2) return relu ? nullptr : packed_of<u16, false>(op);
  return relu ? packed_of<i16, true>(op) : packed_of<i16, false>(op);
}

Handler saturating_handler(Op op, Ty type) {
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

Handler approx_div_handler(bool ftz) {
  return ftz ? &map2<ApproxDiv<true>, float, float> : &map2<ApproxDiv<false>, float, float>;
}

}  // namespace pyptx::emu
