// SPDX-License-Identifier: Apache-2.0
//
// setp and selp (PTX ISA, "Comparison and Selection Instructions").
#include "sem/arithmetic/compare.h"

#include <cmath>

#include "decode/select.h"
#include "numerics/half.h"
#include "sem/arithmetic/elementwise.h"
#include "sem/lanes.h"

namespace pyptx::emu {
namespace {

/// f16, bf16, and f32 with .ftz: element_bytes is the width, register_bytes 1 for bf16.
u32 compare_half(Warp& warp, const Inst& inst, u32 shift) {
  u32 value = 0;
  for (u32 i = 0; i < kLanes; ++i) {
    const auto in = [&](u32 offset) {
      const u32 raw = warp.lanes32(offset)[i] >> shift;
      if (inst.element_bytes == 4) {
        const float f = std::bit_cast<float>(raw);
        return static_cast<double>(std::fabs(f) < 0x1p-126F ? 0.0F : f);
      }
      const u16 bits = static_cast<u16>(raw);
      if (inst.register_bytes == 1) return BFloat{bits}.value();
      return inst.ftz ? flush(Half{bits}).value() : Half{bits}.value();
    };
    if (holds(static_cast<Cmp>(inst.kind), in(inst.a), in(inst.b))) value |= 1U << i;
  }
  return value;
}

Step compare_narrow(Warp& warp, const Inst& inst, u32 mask) {
  return write_predicate(warp, inst, mask, compare_half(warp, inst, 0));
}

/// f16x2, bf16x2: p from the low halves, q from the high halves.
Step compare_pairs(Warp& warp, const Inst& inst, u32 mask) {
  const u32 low = compare_half(warp, inst, 0);
  const u32 high = compare_half(warp, inst, 16);
  Inst one = inst;
  one.flag = false;
  write_predicate(warp, one, mask, low);
  one.d = inst.e;
  return inst.flag ? write_predicate(warp, one, mask, high) : Step::Next;
}

Handler by_type(Lowering& low, Ty type, Cmp cmp) {
  Inst& out = low.out;
  out.kind = static_cast<u8>(cmp);
  out.ftz = low.take("ftz");
  out.element_bytes = 2;
  switch (type) {
    case Ty::F32:
      if (!out.ftz) return compare_handler(cmp, type);
      out.element_bytes = 4;
      return &compare_narrow;
    case Ty::Bf16:
      out.register_bytes = 1;
      return &compare_narrow;
    case Ty::F16:
      return &compare_narrow;
    case Ty::Bf16x2:
      out.register_bytes = 1;
      return &compare_pairs;
    case Ty::F16x2:
      return &compare_pairs;
    default:
      return compare_handler(cmp, type);
  }
}

}  // namespace

Step write_predicate(Warp& warp, const Inst& inst, u32 mask, u32 value) {
  const u32 c = inst.kind2 != 0 ? warp.predicate(inst.c) ^ inst.flip : 0;
  const auto combine = [&](u32 v) { return combined(static_cast<Combine>(inst.kind2), v, c); };
  u32& p = warp.predicate(inst.d);
  const u32 old_q = inst.flag ? warp.predicate(inst.e) : 0;
  p = (p & ~mask) | (combine(value) & mask);
  if (inst.flag) warp.predicate(inst.e) = (old_q & ~mask) | (combine(~value) & mask);
  return Step::Next;
}

std::optional<Cmp> take_compare(Lowering& low, bool is_unsigned) {
  constexpr std::string_view kNames[] = {"eq",  "ne",  "lt",  "le",  "gt",  "ge",  "equ",
                                         "neu", "ltu", "leu", "gtu", "geu", "num", "nan"};
  for (std::size_t i = 0; i < std::size(kNames); ++i) {
    if (low.take(kNames[i])) return static_cast<Cmp>(i);
  }
  if (!is_unsigned) return std::nullopt;
  if (low.take("lo")) return Cmp::Lt;
  if (low.take("ls")) return Cmp::Le;
  if (low.take("hi")) return Cmp::Gt;
  return low.take("hs") ? std::optional(Cmp::Ge) : std::nullopt;
}

Combine take_combine(Lowering& low) {
  const std::string_view combine = low.take_any({"and", "or", "xor"});
  if (combine.empty()) return Combine::None;
  return combine == "and" ? Combine::And : combine == "or" ? Combine::Or : Combine::Xor;
}

Handler select_setp(Lowering& low) {
  Inst& out = low.out;
  const Ty type = low.take_type();
  const std::optional<Cmp> cmp = take_compare(low, is_unsigned(type));
  out.kind2 = static_cast<u8>(take_combine(low));
  const ir::Operand& p = low.operand(0);
  if (p.kind == ir::OperandKind::Pipe) {
    out.d = low.predicate_dest(low.child(p, 0));
    out.e = low.predicate_dest(low.child(p, 1));
    out.flag = true;
  } else {
    out.d = low.predicate_dest(p);
  }
  out.a = low.source(1, type);
  out.b = low.source(2, type);
  if (out.kind2 != 0) {
    bool negated = false;
    out.c = low.predicate(low.operand(3), negated);
    out.flip = negated ? kAllLanes : 0;
  }
  return cmp ? by_type(low, type, *cmp) : nullptr;
}

Handler select_selp(Lowering& low) {
  const Ty type = low.take_type();
  bool negated = false;
  low.out.d = low.dest(0, type);
  low.out.a = low.source(1, type);
  low.out.b = low.source(2, type);
  low.out.c = low.predicate(low.operand(3), negated);
  low.out.flip = negated ? kAllLanes : 0;
  return choose_handler(lane_bytes(info(type).bits));
}

}  // namespace pyptx::emu
