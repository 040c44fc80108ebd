// SPDX-License-Identifier: Apache-2.0
//
// rcp, sqrt, rsqrt, ex2, lg2, sin, cos, tanh (PTX ISA, "Floating Point Instructions"). The
// approximate forms of f32 are answered by a unit (numerics/approximations.h), the others computed
// in double and rounded once, which is inside every bound of the manual.
#include <cmath>

#include "lanes.h"
#include "numerics/approximations.h"
#include "numerics/half.h"
#include "numerics/host_rounding.h"
#include "select.h"

namespace pyptx::emu {
namespace {

float flush(float value, bool ftz) {
  return ftz && std::fpclassify(value) == FP_SUBNORMAL ? std::copysign(0.0F, value) : value;
}

/// target: the unit that answers.
Step single(Warp& warp, const Inst& inst, u32 mask) {
  const ApproximationUnit& unit = approximation_units()[inst.target];
  const Fn fn = static_cast<Fn>(inst.kind);
  each_active(mask, [&](u32 i) {
    const float x = flush(std::bit_cast<float>(warp.lanes32(inst.a)[i]), inst.ftz);
    const float r = std::bit_cast<float>(unit.single(fn, std::bit_cast<u32>(x)));
    warp.lanes32(inst.d)[i] = std::bit_cast<u32>(flush(r, inst.ftz));
  });
  return Step::Next;
}

/// rcp and sqrt with an IEEE rounding mode.
template <typename T>
Step rounded(Warp& warp, const Inst& inst, u32 mask) {
  const HostRounding rounding(inst.round);
  each_active(mask, [&](u32 i) {
    T in = from_raw<T>(lanes_of<T>(warp, inst.a)[i]);
    if (inst.ftz && std::fpclassify(in) == FP_SUBNORMAL) in = std::copysign(T(0), in);
    const volatile T x = in;
    volatile T r = 0;
    if (static_cast<Fn>(inst.kind) == Fn::Rcp) {
      r = T(1) / x;
    } else {
      r = std::sqrt(T(x));
    }
    T out = r;
    if (inst.ftz && std::fpclassify(out) == FP_SUBNORMAL) out = std::copysign(T(0), out);
    auto raw = to_raw<T>(out);
    if (std::isnan(out)) raw = static_cast<Raw<T>>(sizeof(T) == 4 ? kF32.nan : kF64.nan);
    // f64 hands a NaN operand on, made quiet.
    if (sizeof(T) == 8 && std::isnan(in)) {
      raw = to_raw<T>(in) | static_cast<Raw<T>>(0x0008000000000000ULL);
    }
    lanes_of<T>(warp, inst.d)[i] = raw;
  });
  return Step::Next;
}

/// rsqrt.approx.f64: an input of all 64 bits, subnormal numbers included.
Step whole(Warp& warp, const Inst& inst, u32 mask) {
  each_active(mask, [&](u32 i) {
    const double x = std::bit_cast<double>(warp.lanes64(inst.a)[i]);
    const double r = evaluate(static_cast<Fn>(inst.kind), x);
    warp.lanes64(inst.d)[i] = std::isnan(r) ? 0x7FFFFFFF00000000ULL : std::bit_cast<u64>(r);
  });
  return Step::Next;
}

/// rcp.approx.ftz.f64 and rsqrt.approx.ftz.f64: the low 32 bits of the input are ignored, those of
/// the result are zero.
Step gross(Warp& warp, const Inst& inst, u32 mask) {
  constexpr u64 kHigh = 0xFFFFFFFF00000000ULL;
  each_active(mask, [&](u32 i) {
    u64 in = warp.lanes64(inst.a)[i] & kHigh;
    if (inst.ftz && (in & 0x7FF0000000000000ULL) == 0) in &= 0x8000000000000000ULL;
    const double r = evaluate(static_cast<Fn>(inst.kind), std::bit_cast<double>(in));
    u64 out = std::isnan(r) ? 0x7FFFFFFF00000000ULL : std::bit_cast<u64>(r) & kHigh;
    if (inst.ftz && (out & 0x7FF0000000000000ULL) == 0) out &= 0x8000000000000000ULL;
    warp.lanes64(inst.d)[i] = out;
  });
  return Step::Next;
}

template <typename S>
Step halves(Warp& warp, const Inst& inst, u32 mask) {
  const Fn fn = static_cast<Fn>(inst.kind);
  each_active(mask, [&](u32 i) {
    u32 result = 0;
    for (u32 half = 0; half < inst.element_bytes; ++half) {
      S x{static_cast<u16>(warp.lanes32(inst.a)[i] >> (16 * half))};
      if (inst.ftz) x = flush(x);
      S r = S::from(evaluate(fn, x.value()));
      if (inst.ftz) r = flush(r);
      result |= static_cast<u32>(r.bits) << (16 * half);
    }
    warp.lanes32(inst.d)[i] = result;
  });
  return Step::Next;
}

Handler choose(Lowering& low, Fn fn) {
  Inst& out = low.out;
  const Ty type = low.take_type();
  out.kind = static_cast<u8>(fn);
  out.target = approximation_unit(low.program().module->target);
  out.ftz = low.take("ftz");
  out.d = low.dest(0, type);
  out.a = low.source(1, type);
  const bool is_approx = low.take("approx");
  const bool is_rounded = !is_approx && (fn == Fn::Rcp || fn == Fn::Sqrt);
  out.round = is_rounded ? low.take_rounding(Round::Nearest) : Round::Nearest;
  switch (type) {
    case Ty::F32:
      return is_rounded ? &rounded<float> : &single;
    case Ty::F64:
      if (!is_rounded) return out.ftz ? &gross : &whole;
      out.ftz = false;  // .ftz is for .f32 and the gross approximations
      return &rounded<double>;
    case Ty::F16:
      out.element_bytes = 1;
      return &halves<Half>;
    case Ty::F16x2:
      out.element_bytes = 2;
      return &halves<Half>;
    case Ty::BF16:
      out.element_bytes = 1;
      return &halves<BFloat>;
    case Ty::BF16x2:
      out.element_bytes = 2;
      return &halves<BFloat>;
    default:
      return nullptr;
  }
}

}  // namespace

Handler select_rcp(Lowering& low) { return choose(low, Fn::Rcp); }
Handler select_sqrt(Lowering& low) { return choose(low, Fn::Sqrt); }
Handler select_rsqrt(Lowering& low) { return choose(low, Fn::Rsqrt); }
Handler select_ex2(Lowering& low) { return choose(low, Fn::Ex2); }
Handler select_lg2(Lowering& low) { return choose(low, Fn::Lg2); }
Handler select_sin(Lowering& low) { return choose(low, Fn::Sin); }
Handler select_cos(Lowering& low) { return choose(low, Fn::Cos); }
Handler select_tanh(Lowering& low) { return choose(low, Fn::Tanh); }

}  // namespace pyptx::emu
