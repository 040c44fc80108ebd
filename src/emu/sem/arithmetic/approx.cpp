// SPDX-License-Identifier: Apache-2.0
//
// rcp, sqrt, rsqrt, ex2, lg2, sin, cos, tanh (PTX ISA, "Floating Point Instructions"): rcp and sqrt
// with an IEEE rounding here, the approximate forms in functions.inc.
#include <cmath>

#include "decode/select.h"
#include "numerics/convert.h"
#include "numerics/host_rounding.h"
#include "sem/arithmetic/functions.h"
#include "sem/lanes.h"

namespace pyptx::emu {
namespace {

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
    if (inst.ftz) {  // of f32; what is below the normal numbers once it has 24 bits
      r = static_cast<Fn>(inst.kind) == Fn::Rcp ? T(0x1p64F) / x : T(1);
      if (std::fabs(T(r)) < T(0x1p-62F)) out = std::copysign(T(0), out);
    }
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

Handler choose(Lowering& low, Fn fn) {
  Inst& out = low.out;
  const Ty type = low.take_type();
  out.kind = static_cast<u8>(fn);
  out.ftz = low.take("ftz");
  out.d = low.dest(0, type);
  out.a = low.source(1, type);
  const bool is_approx = low.take("approx");
  const bool is_rounded = !is_approx && (fn == Fn::Rcp || fn == Fn::Sqrt);
  out.round = is_rounded ? low.take_rounding(Round::Nearest) : Round::Nearest;
  if (!is_rounded) {
    return type == Ty::F64 ? wide_function_handler(fn, out.ftz)
                           : function_handler(fn, type, out.ftz);
  }
  if (type == Ty::F32) return &rounded<float>;
  out.ftz = false;  // .ftz is for .f32 and the gross approximations
  return &rounded<double>;
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
