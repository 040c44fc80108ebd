// SPDX-License-Identifier: Apache-2.0
//
// Arithmetic whose operands differ in type (PTX ISA, "Mixed Precision Floating Point Instructions")
// and arithmetic of packed 8-, 6- and 4-bit floats ("Alternate Floating Point Instructions"). Each
// element is computed exactly, as an odd-rounded double, and rounded once.
#include "decode/select.h"
#include "numerics/narrow.h"
#include "sem/arithmetic/elementwise.h"
#include "sem/lane.h"

namespace pyptx::emu {
namespace {

/// Element `index` of a packed or scalar value.
double element(u64 word, Ty type, u32 index) {
  switch (type) {
    case Ty::F32:
      return std::bit_cast<float>(static_cast<u32>(word));
    case Ty::F32x2:
      return std::bit_cast<float>(static_cast<u32>(word >> (32 * index)));
    default:
      return value_of(narrow_of(type), word, index);
  }
}

double flushed(double value, double least) {
  return std::fabs(value) < least ? std::copysign(0.0, value) : value;
}

/// An element rounded to the type of d; .sat clamps to [0, 1].
u64 rounded_element(const Inst& inst, Ty type, double value) {
  if (type == Ty::F32 || type == Ty::F32x2) {
    if (inst.sat) value = value > 0 ? std::min(value, 1.0) : 0.0;  // a NaN becomes zero
    return narrow(value, kF32, inst.round);
  }
  NarrowModes modes;
  modes.round = inst.round;
  modes.satfinite = inst.flag2;
  const u64 bits = rounded(narrow_of(type), value, modes);
  const bool is_subnormal = type == Ty::F16x2 && (bits & kF16.infinity()) == 0;
  return inst.ftz && is_subnormal ? bits & kF16.sign() : bits;
}

u32 slot_of(Ty type) { return type == Ty::F32x2 ? 32 : type == Ty::F32 ? 0 : narrow_of(type).slot; }

double computed(Op op, Round round, double a, double b, double c) {
  switch (op) {
    case Op::Add:
      return add_to_odd(a, b, round);
    case Op::Sub:
      return add_to_odd(a, -b, round);
    case Op::Mul:
      return a * b;  // at most 48 bits
    default:
      return add_to_odd(a * b, c, round);
  }
}

bool is_half_pair(Ty type) { return type == Ty::F16x2 || type == Ty::Bf16x2; }

/// list: types of d, a, b, c; element_bytes: elements.
Step mixed(Warp& warp, const Inst& inst, u32 mask) {
  const u32* list = warp.program->lists.data() + inst.list;
  const auto type = [&](u32 k) { return static_cast<Ty>(list[k]); };
  const auto read = [&](u32 offset, Ty of, u32 lane) {
    return read_lane(warp, offset, lane_bytes(info(of).bits), lane);
  };
  each_active(mask, [&](u32 i) {
    const u64 a = read(inst.a, type(1), i);
    const u64 b = read(inst.b, type(2), i);
    const u64 c = read(inst.c, type(3), i);
    u64 result = 0;
    for (u32 k = 0; k < inst.element_bytes; ++k) {
      const auto in = [&](u64 word, u32 operand) {
        const double value = element(word, type(operand), k);
        return inst.ftz ? flushed(value, 0x1p-126) : value;
      };
      double y = in(b, 2);
      // A factor of the other 16-bit format is converted to that of d first.
      if (inst.flag)
        y = widen(narrow(y, *narrow_of(type(0)).format, Round::Nearest),
                  *narrow_of(type(0)).format);
      const double value = computed(static_cast<Op>(inst.kind), inst.round, in(a, 1), y, in(c, 3));
      result |= rounded_element(inst, type(0), value) << (slot_of(type(0)) * k);
    }
    write_lane(warp, inst.d, lane_bytes(info(type(0)).bits), i, result);
  });
  return Step::Next;
}

u32 elements_of_result(Ty type) {
  switch (type) {
    case Ty::F32:
      return 1;
    case Ty::E4m3x4:
    case Ty::E5m2x4:
      return 4;
    default:
      return 2;
  }
}

Handler choose(Lowering& low, Op op) {
  Inst& out = low.out;
  const Ty d = low.take_type();
  const Ty second = low.take_type();
  const Ty third = low.take_type();
  const Ty fourth = low.take_type();
  out.round = low.take_rounding(Round::Nearest);
  out.sat = low.take("sat");
  out.ftz = low.take("ftz");
  out.flag2 = low.take("satfinite");
  out.kind = static_cast<u8>(op);
  out.element_bytes = static_cast<u8>(elements_of_result(d));
  out.flag = op == Op::Mul && is_half_pair(second) && is_half_pair(third);
  // What is not named has the type of d; a product's second factor that of the first.
  Ty b = third == Ty::None ? d : third;
  if (op == Op::Fma && third == Ty::None) b = second;
  const Ty c = fourth == Ty::None ? d : fourth;
  const u32 list[] = {static_cast<u32>(d), static_cast<u32>(second), static_cast<u32>(b),
                      static_cast<u32>(c)};
  low.set_list(list);
  out.d = low.dest(0, d);
  out.a = low.source(1, second);
  out.b = low.source(2, b);
  out.c = low.count() > 3 ? low.source(3, c) : out.b;
  return &mixed;
}

}  // namespace

Handler select_mixed_add(Lowering& low) { return choose(low, Op::Add); }
Handler select_mixed_sub(Lowering& low) { return choose(low, Op::Sub); }
Handler select_mixed_mul(Lowering& low) { return choose(low, Op::Mul); }
Handler select_mixed_fma(Lowering& low) { return choose(low, Op::Fma); }

}  // namespace pyptx::emu
