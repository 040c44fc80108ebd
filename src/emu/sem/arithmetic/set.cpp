// SPDX-License-Identifier: Apache-2.0
//
// set, slct (PTX ISA, "Comparison and Selection Instructions", "Half Precision Comparison
// Instructions"), testp and copysign ("Floating Point Instructions").
#include <cmath>

#include "decode/select.h"
#include "numerics/half.h"
#include "sem/arithmetic/compare.h"
#include "sem/lane.h"

namespace pyptx::emu {
namespace {

/// Types of one element: those of the packed types are their scalars.
Ty element_type(Ty type) {
  switch (type) {
    case Ty::F16x2:
      return Ty::F16;
    case Ty::Bf16x2:
      return Ty::Bf16;
    case Ty::U16x2:
      return Ty::U16;
    case Ty::S16x2:
      return Ty::S16;
    case Ty::U8x4:
      return Ty::U8;
    case Ty::S8x4:
      return Ty::S8;
    default:
      return type;
  }
}

double as_double(u64 bits, Ty type, bool ftz) {
  switch (type) {
    case Ty::F64:
      return std::bit_cast<double>(bits);
    case Ty::F32: {
      const float f = std::bit_cast<float>(static_cast<u32>(bits));
      return ftz && std::fabs(f) < 0x1p-126F ? 0.0 : static_cast<double>(f);
    }
    case Ty::Bf16:
      return BFloat{static_cast<u16>(bits)}.value();
    default: {
      const Half half{static_cast<u16>(bits)};
      return ftz ? flush(half).value() : half.value();
    }
  }
}

bool compare(Cmp cmp, Ty type, u64 a, u64 b, bool ftz) {
  const u32 bits = info(type).bits;
  if (is_float(type)) return holds(cmp, as_double(a, type, ftz), as_double(b, type, ftz));
  if (is_signed(type)) return holds(cmp, sign_extended(a, bits), sign_extended(b, bits));
  return holds(cmp, low_bits(a, bits), low_bits(b, bits));
}

/// kind: Cmp, kind2: Combine, target: the element type, element_bytes: elements, imm: what true
/// is, register_bytes: of the sources, e: of the destination.
Step set(Warp& warp, const Inst& inst, u32 mask) {
  const Ty type = static_cast<Ty>(inst.target);
  const u32 bits = info(type).bits;
  const Combine combine = static_cast<Combine>(inst.kind2);
  const u32 c = combine == Combine::None ? 0 : warp.predicate(inst.c) ^ inst.flip;
  each_active(mask, [&](u32 i) {
    const u64 a = read_lane(warp, inst.a, inst.register_bytes, i);
    const u64 b = read_lane(warp, inst.b, inst.register_bytes, i);
    u64 result = 0;
    for (u32 k = 0; k < inst.element_bytes; ++k) {
      const bool is_true =
          compare(static_cast<Cmp>(inst.kind), type, a >> (bits * k), b >> (bits * k), inst.ftz);
      const u32 value = combined(combine, is_true ? 1U : 0U, (c >> i) & 1U);
      if (value != 0) result |= static_cast<u64>(inst.imm) << (bits * k);
    }
    write_lane(warp, inst.d, inst.e, i, result);
  });
  return Step::Next;
}

/// What true is in the destination: 1.0 for floats, all ones for integers.
u64 true_value(Ty to, u32 elements) {
  switch (element_type(to)) {
    case Ty::F32:
      return 0x3F800000U;
    case Ty::F16:
      return 0x3C00U;
    case Ty::Bf16:
      return 0x3F80U;
    default:
      return low_bits(~0ULL, info(to).bits / elements);
  }
}

u32 elements_of(Ty type) { return info(type).bits / info(element_type(type)).bits; }

/// c >= 0 picks a; a NaN picks b. kind: 1 for an f32 selector.
template <typename T>
Step pick(Warp& warp, const Inst& inst, u32 mask) {
  each_active(mask, [&](u32 i) {
    const u32 c = warp.lanes32(inst.c)[i];
    bool is_first = static_cast<i32>(c) >= 0;
    if (inst.kind != 0) is_first = as_double(c, Ty::F32, inst.ftz) >= 0;
    lanes_of<T>(warp, inst.d)[i] = lanes_of<T>(warp, is_first ? inst.a : inst.b)[i];
  });
  return Step::Next;
}

enum class Property : u8 { Finite, Infinite, Number, NotANumber, Normal, Subnormal };

template <typename T>
Step test(Warp& warp, const Inst& inst, u32 mask) {
  u32 value = 0;
  each_active(mask, [&](u32 i) {
    const int kind = std::fpclassify(from_raw<T>(lanes_of<T>(warp, inst.a)[i]));
    bool is_so = false;
    switch (static_cast<Property>(inst.kind)) {
      case Property::Finite:
        is_so = kind != FP_INFINITE && kind != FP_NAN;
        break;
      case Property::Infinite:
        is_so = kind == FP_INFINITE;
        break;
      case Property::Number:
        is_so = kind != FP_NAN;
        break;
      case Property::NotANumber:
        is_so = kind == FP_NAN;
        break;
      case Property::Normal:  // a zero counts as normal
        is_so = kind == FP_NORMAL || kind == FP_ZERO;
        break;
      case Property::Subnormal:
        is_so = kind == FP_SUBNORMAL;
        break;
    }
    value |= (is_so ? 1U : 0U) << i;
  });
  u32& p = warp.predicate(inst.d);
  p = (p & ~mask) | value;
  return Step::Next;
}

/// The sign of a with the magnitude of b.
template <typename T>
struct CopySign {
  T operator()(T a, T b) const {
    constexpr T kSign = T{1} << (sizeof(T) * 8 - 1);
    return (a & kSign) | (b & ~kSign);
  }
};

}  // namespace

Handler select_set(Lowering& low) {
  Inst& out = low.out;
  const Ty to = low.take_type();
  const Ty second = low.take_type();
  const Ty from = second == Ty::None ? to : second;
  const std::optional<Cmp> cmp = take_compare(low, is_unsigned(from));
  if (!cmp || from == Ty::None) return nullptr;
  out.kind = static_cast<u8>(*cmp);
  out.kind2 = static_cast<u8>(take_combine(low));
  out.ftz = low.take("ftz");
  out.target = static_cast<u32>(element_type(from));
  out.element_bytes = static_cast<u8>(elements_of(from));
  out.imm = static_cast<i64>(true_value(to, out.element_bytes));
  out.register_bytes = static_cast<u8>(lane_bytes(info(from).bits));
  out.e = lane_bytes(info(to).bits);
  out.d = low.dest(0, to);
  out.a = low.source(1, from);
  out.b = low.source(2, from);
  if (out.kind2 != 0) {
    bool negated = false;
    out.c = low.predicate(low.operand(3), negated);
    out.flip = negated ? kAllLanes : 0;
  }
  return &set;
}

Handler select_slct(Lowering& low) {
  Inst& out = low.out;
  const Ty type = low.take_type();
  const Ty by = low.take_type();
  out.ftz = low.take("ftz");
  out.kind = by == Ty::F32 ? 1 : 0;
  out.d = low.dest(0, type);
  out.a = low.source(1, type);
  out.b = low.source(2, type);
  out.c = low.source(3, by);
  return lane_bytes(info(type).bits) == 8 ? &pick<u64> : &pick<u32>;
}

Handler select_testp(Lowering& low) {
  constexpr std::string_view kNames[] = {"finite",     "infinite", "number",
                                         "notanumber", "normal",   "subnormal"};
  const Ty type = low.take_type();
  u32 found = std::size(kNames);
  for (u32 i = 0; i < std::size(kNames); ++i) {
    if (low.take(kNames[i])) found = i;
  }
  if (found == std::size(kNames)) return low.refuse("it names no property to test");
  low.out.kind = static_cast<u8>(found);
  low.out.d = low.predicate_dest(low.operand(0));
  low.out.a = low.source(1, type);
  return type == Ty::F64 ? &test<double> : &test<float>;
}

Handler select_copysign(Lowering& low) {
  const Ty type = low.take_type();
  low.out.d = low.dest(0, type);
  low.out.a = low.source(1, type);
  low.out.b = low.source(2, type);
  return type == Ty::F64 ? &map2<CopySign<u64>, u64, u64> : &map2<CopySign<u32>, u32, u32>;
}

}  // namespace pyptx::emu
