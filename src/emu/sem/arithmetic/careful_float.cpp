// SPDX-License-Identifier: Apache-2.0
//
// f32 and f64 arithmetic with directed rounding, saturation, NaN-propagating extremes and three
// operands (PTX ISA, "Floating Point Instructions"). One lane at a time, in the host's rounding
// mode; `volatile` keeps the compiler from moving arithmetic across the change of mode.
#include <cfenv>
#include <cmath>

#include "decode/lowering.h"
#include "numerics/host_rounding.h"
#include "sem/arithmetic/elementwise.h"
#include "sem/lanes.h"

namespace pyptx::emu {
namespace {

template <typename T>
T canonical_nan() {
  if constexpr (sizeof(T) == 4)
    return std::bit_cast<float>(0x7FFFFFFFU);
  else
    return std::bit_cast<double>(0xFFF8000000000000ULL);
}

template <typename T>
T flush(T value, bool ftz) {
  return ftz && std::fpclassify(value) == FP_SUBNORMAL ? std::copysign(T(0), value) : value;
}

/// What a NaN result is: canonical for f32, for f64 the first operand that is one, made quiet.
template <typename T>
T nan_result(Op op, T a, T b, T c) {
  if constexpr (sizeof(T) == 8) {
    const T order[] = {op == Op::Div ? a : b, op == Op::Div ? b : op == Op::Fma ? c : a, a};
    for (const T from : order) {
      if (std::isnan(from)) {
        return std::bit_cast<double>(std::bit_cast<u64>(from) | 0x0008000000000000ULL);
      }
    }
  }
  return canonical_nan<T>();
}

template <typename T>
T compute(Op op, T x, T y, T z) {
  const volatile T a = x;
  const volatile T b = y;
  const volatile T c = z;
  volatile T r = 0;
  switch (op) {
    case Op::Add:
      r = a + b;
      break;
    case Op::Sub:
      r = a - b;
      break;
    case Op::Mul:
      r = a * b;
      break;
    case Op::Div:
      r = a / b;
      break;
    case Op::Fma:
      r = std::fma(T(a), T(b), T(c));
      break;
    default:
      break;
  }
  return r;
}

/// .ftz flushes what is below the normal numbers once it is rounded to 24 bits, as if exponents had
/// no end: the same on larger numbers tells. What is scaled out of range is not tiny.
bool is_tiny(Op op, float a, float b, float c) {
  if (op != Op::Mul && op != Op::Div && op != Op::Fma) return false;
  const bool is_fused = op == Op::Fma;
  const float raised = is_fused ? compute<float>(op, a * 0x1p32F, b * 0x1p32F, c * 0x1p64F)
                                : compute<float>(op, a * 0x1p64F, b, c);
  return std::fabs(raised) < 0x1p-62F;
}

template <typename T>
T extreme(bool is_min, bool propagate, T a, T b) {
  if (std::isnan(a) || std::isnan(b)) {
    if (propagate || (std::isnan(a) && std::isnan(b))) return canonical_nan<T>();
    return std::isnan(a) ? b : a;
  }
  if (a == b) return std::signbit(a) == is_min ? a : b;
  return (a < b) == is_min ? a : b;
}

template <typename T>
Step arithmetic(Warp& warp, const Inst& inst, u32 mask) {
  const HostRounding rounding(inst.round);
  each_active(mask, [&](u32 i) {
    const auto in = [&](u32 offset) {
      return flush(from_raw<T>(lanes_of<T>(warp, offset)[i]), inst.ftz);
    };
    const Op op = static_cast<Op>(inst.kind);
    const T a = in(inst.a);
    const T b = in(inst.b);
    const T c = in(inst.c);
    T r = flush(compute<T>(op, a, b, c), inst.ftz);
    if constexpr (sizeof(T) == 4) {
      if (inst.ftz && is_tiny(op, a, b, c)) r = std::copysign(T(0), r);
    }
    if (std::isnan(r)) r = nan_result(op, a, b, c);
    if (inst.sat) r = r > T(0) ? (r < T(1) ? r : T(1)) : T(0);
    lanes_of<T>(warp, inst.d)[i] = to_raw<T>(r);
  });
  return Step::Next;
}

/// flag: .NaN, flag2: .xorsign, kind2: .abs, element_bytes: operands.
template <typename T>
Step extremes(Warp& warp, const Inst& inst, u32 mask) {
  const bool is_min = static_cast<Op>(inst.kind) == Op::Min;
  each_active(mask, [&](u32 i) {
    const auto in = [&](u32 offset) {
      const T v = flush(from_raw<T>(lanes_of<T>(warp, offset)[i]), inst.ftz);
      return inst.kind2 != 0 ? std::fabs(v) : v;
    };
    T r = extreme(is_min, inst.flag, in(inst.a), in(inst.b));
    if (inst.element_bytes == 3) r = extreme(is_min, inst.flag, r, in(inst.c));
    if (inst.flag2 && !std::isnan(r)) {
      const bool sign = std::signbit(from_raw<T>(lanes_of<T>(warp, inst.a)[i])) !=
                        std::signbit(from_raw<T>(lanes_of<T>(warp, inst.b)[i]));
      r = sign ? -std::fabs(r) : std::fabs(r);
    }
    lanes_of<T>(warp, inst.d)[i] = to_raw<T>(r);
  });
  return Step::Next;
}

/// f32x2: the same operation on both halves.
Step pair_arithmetic(Warp& warp, const Inst& inst, u32 mask) {
  const HostRounding rounding(inst.round);
  each_active(mask, [&](u32 i) {
    u64 result = 0;
    for (u32 half = 0; half < 2; ++half) {
      const auto in = [&](u32 offset) {
        const u32 bits = static_cast<u32>(warp.lanes64(offset)[i] >> (32 * half));
        return flush(std::bit_cast<float>(bits), inst.ftz);
      };
      const bool has_c = static_cast<Op>(inst.kind) == Op::Fma;
      float r = compute<float>(static_cast<Op>(inst.kind), in(inst.a), in(inst.b),
                               has_c ? in(inst.c) : 0.0F);
      r = flush(r, inst.ftz);
      if (std::isnan(r)) r = canonical_nan<float>();
      result |= static_cast<u64>(std::bit_cast<u32>(r)) << (32 * half);
    }
    warp.lanes64(inst.d)[i] = result;
  });
  return Step::Next;
}

}  // namespace

Handler careful_float_handler(Lowering& low, Op op, Ty type) {
  low.out.kind = static_cast<u8>(op);
  if (type != Ty::F32 && type != Ty::F64) return nullptr;
  if (op == Op::Min || op == Op::Max) {
    low.out.element_bytes = low.count() > 3 ? 3 : 2;
    return type == Ty::F32 ? &extremes<float> : &extremes<double>;
  }
  if (low.count() <= 3) low.out.c = low.out.a;
  return type == Ty::F32 ? &arithmetic<float> : &arithmetic<double>;
}

Handler pair_float_handler(Lowering& low, Op op) {
  low.out.ftz = low.take("ftz");
  low.out.round = low.take_rounding(Round::Nearest);
  low.out.kind = static_cast<u8>(op);
  const bool is_known = op == Op::Add || op == Op::Sub || op == Op::Mul || op == Op::Fma;
  return is_known ? &pair_arithmetic : nullptr;
}

}  // namespace pyptx::emu
