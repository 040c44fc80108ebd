// SPDX-License-Identifier: Apache-2.0
//
// Selection for the arithmetic, logic and shift families: by type to the integer, float, half or
// packed handlers. The handlers are in elementwise.inc, careful_float.cpp, half.cpp, packed.cpp.
#include "decode/select.h"
#include "sem/arithmetic/elementwise.h"
#include "sem/arithmetic/functions.h"
#include "sem/arithmetic/packed.h"

namespace pyptx::emu {
namespace {

bool is_half(Ty type) {
  return type == Ty::F16 || type == Ty::F16x2 || type == Ty::Bf16 || type == Ty::Bf16x2;
}

bool is_packed(Ty type) {
  return type == Ty::U16x2 || type == Ty::S16x2 || type == Ty::U8x4 || type == Ty::S8x4;
}

void operands(Lowering& low, Ty d, Ty a, Ty b, Ty c) {
  low.out.d = low.dest(0, d);
  low.out.a = low.source(1, a);
  if (low.count() > 2) low.out.b = low.source(2, b);
  if (low.count() > 3) low.out.c = low.source(3, c);
}

Handler float_family(Lowering& low, Op op, Ty type) {
  operands(low, type, type, type, type);
  if (is_half(type)) return half_handler(low, op, type);
  if (type == Ty::F32x2) return pair_float_handler(low, op);
  low.out.ftz = low.take("ftz");
  const Round round = low.take_rounding(Round::Nearest);
  low.out.round = round;
  low.out.sat = low.take("sat");
  low.out.flag = low.take("NaN");
  low.out.flag2 = low.take("xorsign");
  low.out.kind2 = low.take("abs") ? 1 : 0;
  const bool is_plain = round == Round::Nearest && !low.out.sat && !low.out.flag &&
                        !low.out.flag2 && low.out.kind2 == 0 &&
                        !((op == Op::Min || op == Op::Max) && low.count() > 3);
  return is_plain ? float_handler(op, type, low.out.ftz) : careful_float_handler(low, op, type);
}

Ty wide_of(Ty type) {
  switch (type) {
    case Ty::U16:
      return Ty::U32;
    case Ty::S16:
      return Ty::S32;
    case Ty::U32:
      return Ty::U64;
    default:
      return Ty::S64;
  }
}

Handler add_like(Lowering& low, Op op) {
  const Ty type = low.take_type();
  if (is_float(type)) return float_family(low, op, type);
  operands(low, type, type, type, type);
  if (is_packed(type)) return packed_handler(low, op, type);
  if (low.take("sat")) return saturating_handler(op, type);
  return integer_handler(op, type);
}

Handler unary(Lowering& low, Op op) {
  const Ty type = low.take_type();
  if (is_float(type)) return float_family(low, op, type);
  operands(low, type, type, type, type);
  if (is_packed(type)) return packed_handler(low, op, type);
  return integer_handler(op, type);
}

Handler extreme(Lowering& low, Op op) {
  const Ty type = low.take_type();
  if (is_float(type)) return float_family(low, op, type);
  operands(low, type, type, type, type);
  if (is_packed(type)) return packed_handler(low, op, type);
  if (low.take("relu")) return type == Ty::S32 ? relu_handler(op) : nullptr;
  return integer_handler(op, type);
}

Handler logic(Lowering& low, Op op) {
  const Ty type = low.take_type();
  if (type == Ty::Pred) {
    bool flip_a = false;
    bool flip_b = false;
    low.out.d = low.predicate_dest(low.operand(0));
    low.out.a = low.predicate(low.operand(1), flip_a);
    if (low.count() > 2) low.out.b = low.predicate(low.operand(2), flip_b);
    low.out.flip = flip_a ? kAllLanes : 0;
    low.out.e = flip_b ? kAllLanes : 0;
    return predicate_logic_handler(op);
  }
  operands(low, type, type, type, type);
  return integer_handler(op, type);
}

Handler shift(Lowering& low, Op op) {
  const Ty type = low.take_type();
  operands(low, type, type, Ty::U32, Ty::U32);
  return integer_handler(op, type);
}

}  // namespace

Handler select_add(Lowering& low) { return add_like(low, Op::Add); }
Handler select_sub(Lowering& low) { return add_like(low, Op::Sub); }

Handler select_mul(Lowering& low) {
  const std::string_view half = low.take_any({"lo", "hi", "wide"});
  const Ty type = low.take_type();
  if (is_float(type)) return float_family(low, Op::Mul, type);
  const Ty result = half == "wide" ? wide_of(type) : type;
  operands(low, result, type, type, type);
  return integer_handler(half == "wide" ? Op::MulWide : half == "hi" ? Op::MulHigh : Op::Mul, type);
}

Handler select_mad(Lowering& low) {
  const std::string_view half = low.take_any({"lo", "hi", "wide"});
  const Ty type = low.take_type();
  if (is_float(type)) return float_family(low, Op::Fma, type);  // mad.f32 is fma on sm_20 and later
  const Ty result = half == "wide" ? wide_of(type) : type;
  operands(low, result, type, type, result);
  if (low.take("sat")) return saturating_handler(Op::MadHigh, type);
  return integer_handler(half == "wide" ? Op::MadWide : half == "hi" ? Op::MadHigh : Op::Mad, type);
}

Handler select_fma(Lowering& low) { return float_family(low, Op::Fma, low.take_type()); }

Handler select_div(Lowering& low) {
  const Ty type = low.take_type();
  const std::string_view mode = low.take_any({"approx", "full"});
  if (is_float(type)) {
    const Handler handler = float_family(low, Op::Div, type);
    return mode.empty() ? handler : quotient_handler(mode == "full", low.out.ftz);
  }
  operands(low, type, type, type, type);
  return integer_handler(Op::Div, type);
}

Handler select_rem(Lowering& low) { return unary(low, Op::Rem); }
Handler select_neg(Lowering& low) { return unary(low, Op::Neg); }
Handler select_abs(Lowering& low) { return unary(low, Op::Abs); }
Handler select_min(Lowering& low) { return extreme(low, Op::Min); }
Handler select_max(Lowering& low) { return extreme(low, Op::Max); }
Handler select_logic_and(Lowering& low) { return logic(low, Op::And); }
Handler select_logic_or(Lowering& low) { return logic(low, Op::Or); }
Handler select_logic_xor(Lowering& low) { return logic(low, Op::Xor); }
Handler select_logic_not(Lowering& low) { return logic(low, Op::Not); }
Handler select_shl(Lowering& low) { return shift(low, Op::Shl); }
Handler select_shr(Lowering& low) { return shift(low, Op::Shr); }

}  // namespace pyptx::emu
