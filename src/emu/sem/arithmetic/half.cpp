// SPDX-License-Identifier: Apache-2.0
//
// f16, bf16 and their pairs (PTX ISA, "Half Precision Floating Point Instructions"): correctly
// rounded, with .ftz, .sat, .relu, .NaN, .xorsign.abs.
#include "numerics/half.h"

#include "decode/lowering.h"
#include "sem/arithmetic/elementwise.h"
#include "sem/lanes.h"

namespace pyptx::emu {
namespace {

template <typename S>
S extreme(const Inst& inst, S a, S b) {
  const S nan{static_cast<u16>(S::format().nan)};
  const bool is_min = static_cast<Op>(inst.kind) == Op::Min;
  const u16 magnitude = static_cast<u16>(S::format().sign() - 1);
  const u16 sign = static_cast<u16>((a.bits ^ b.bits) & S::format().sign());
  if (inst.kind2 != 0) {
    a.bits &= magnitude;
    b.bits &= magnitude;
  }
  S r = a;
  if (a.is_nan() || b.is_nan()) {
    r = inst.flag || (a.is_nan() && b.is_nan()) ? nan : a.is_nan() ? b : a;
  } else if (a.value() == b.value()) {
    r = a.is_negative() == is_min ? a : b;
  } else {
    r = (a.value() < b.value()) == is_min ? a : b;
  }
  if (inst.flag2 && !r.is_nan()) r.bits = static_cast<u16>((r.bits & magnitude) | sign);
  return r;
}

/// Below the normal numbers once it is rounded, as if exponents had no end: half a unit below the
/// smallest one, a product is rounded up to it.
template <typename S>
bool is_tiny(double exact) {
  const double unit = std::ldexp(1.0, -S::format().fraction_bits - 2);
  return std::fabs(exact) < std::ldexp(1.0 - unit, 1 - S::format().bias());
}

/// What tensor copies put outside a tensor; .oob makes zero of what it is multiplied with.
constexpr u16 kOutsideNan = 0x7FF7;

template <typename S>
S apply(const Inst& inst, S a, S b, S c) {
  const u16 nan = static_cast<u16>(S::format().nan);
  if (inst.ftz) {
    a = flush(a);
    b = flush(b);
    c = flush(c);
  }
  const u16 sign = static_cast<u16>(S::format().sign());
  S r = a;
  switch (static_cast<Op>(inst.kind)) {
    case Op::Add:
      r = add_short(a, b);
      break;
    case Op::Sub:
      // -NaN is a NaN too: flipping its sign changes nothing that can be seen.
      b.bits ^= sign;
      r = add_short(a, b);
      break;
    case Op::Mul:
      r = mul_short(a, b);
      if (inst.ftz && is_tiny<S>(a.value() * b.value())) r.bits &= sign;
      break;
    case Op::Fma:
      r = fma_short(a, b, c);
      if (inst.ftz && is_tiny<S>(add_to_odd(a.value() * b.value(), c.value()))) r.bits &= sign;
      if (inst.flag && (a.bits == kOutsideNan || b.bits == kOutsideNan)) r.bits = 0;
      break;
    case Op::Neg:
      r.bits = a.is_nan() ? nan : static_cast<u16>(a.bits ^ sign);
      break;
    case Op::Abs:
      r.bits = a.is_nan() ? nan : static_cast<u16>(a.bits & ~sign);
      break;
    default:
      r = extreme(inst, a, b);
      break;
  }
  if (inst.ftz) r = flush(r);
  if (inst.sat) r = saturate(r);
  if (inst.register_bytes == 1) r = relu(r);
  return r;
}

template <typename S>
Step one(Warp& warp, const Inst& inst, u32 mask) {
  each_active(mask, [&](u32 i) {
    const auto in = [&](u32 offset) { return S{static_cast<u16>(warp.lanes32(offset)[i])}; };
    warp.lanes32(inst.d)[i] = apply<S>(inst, in(inst.a), in(inst.b), in(inst.c)).bits;
  });
  return Step::Next;
}

template <typename S>
Step two(Warp& warp, const Inst& inst, u32 mask) {
  each_active(mask, [&](u32 i) {
    const auto low = [&](u32 offset) { return S{static_cast<u16>(warp.lanes32(offset)[i])}; };
    const auto high = [&](u32 offset) {
      return S{static_cast<u16>(warp.lanes32(offset)[i] >> 16)};
    };
    const u32 l = apply<S>(inst, low(inst.a), low(inst.b), low(inst.c)).bits;
    const u32 h = apply<S>(inst, high(inst.a), high(inst.b), high(inst.c)).bits;
    warp.lanes32(inst.d)[i] = l | h << 16;
  });
  return Step::Next;
}

}  // namespace

Handler half_handler(Lowering& low, Op op, Ty type) {
  Inst& out = low.out;
  out.kind = static_cast<u8>(op);
  out.ftz = low.take("ftz");
  out.sat = low.take("sat");
  out.register_bytes = low.take("relu") ? 1 : 0;
  out.flag = low.take("NaN") || low.take("oob");
  out.flag2 = low.take("xorsign");
  out.kind2 = op != Op::Abs && low.take("abs") ? 1 : 0;
  low.take("rn");
  if (low.count() <= 2) out.b = out.a;
  if (low.count() <= 3) out.c = out.a;
  if (op == Op::Div || op == Op::Rem) return nullptr;
  switch (type) {
    case Ty::F16:
      return &one<Half>;
    case Ty::F16x2:
      return &two<Half>;
    case Ty::Bf16:
      return &one<BFloat>;
    default:
      return &two<BFloat>;
  }
}

}  // namespace pyptx::emu
