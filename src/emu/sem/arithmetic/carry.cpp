// SPDX-License-Identifier: Apache-2.0
//
// Extended-precision arithmetic (PTX ISA, "Extended-Precision Integer Arithmetic Instructions"):
// the carry of the condition code is a bit per lane. A subtraction adds the complement of its
// second operand, so the carry after it is *not borrow*, and the next one takes it as such: any mix
// of additions, subtractions and products passes the same bit on, as the machine does.
#include <algorithm>

#include "decode/select.h"
#include "sem/lane.h"

namespace pyptx::emu {
namespace {

enum class Sum : u8 { Add, Subtract, MadLow, MadHigh };

/// kind: Sum, flag: takes the carry in, flag2: gives the carry out.
template <typename T>
Step extended(Warp& warp, const Inst& inst, u32 mask) {
  using Bits = std::make_unsigned_t<T>;
  using Wide = std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>;
  constexpr u32 kBits = sizeof(T) * 8;
  const Sum kind = static_cast<Sum>(inst.kind);
  u32 out = 0;
  each_active(mask, [&](u32 i) {
    const auto in = [&](u32 offset) { return from_raw<T>(lanes_of<T>(warp, offset)[i]); };
    const u32 carry = inst.flag ? (warp.carry >> i) & 1U : kind == Sum::Subtract;
    const T a = in(inst.a);
    const T b = in(inst.b);
    Bits x = static_cast<Bits>(a);
    Bits y = static_cast<Bits>(b);
    if (kind == Sum::MadLow || kind == Sum::MadHigh) {
      const Wide product = static_cast<Wide>(a) * static_cast<Wide>(b);
      x = static_cast<Bits>(kind == Sum::MadHigh ? product >> kBits : product);
      y = static_cast<Bits>(in(inst.c));
    }
    using Long = unsigned __int128;
    if (kind == Sum::Subtract) y = static_cast<Bits>(~y);
    const Long sum = Long{x} + y + carry;
    out |= static_cast<u32>((sum >> kBits) & 1U) << i;
    T result = static_cast<T>(static_cast<Bits>(sum));
    if (inst.sat) {  // .s32 only
      const i64 s = static_cast<i32>(x);
      const i64 t = static_cast<i32>(y);
      result = static_cast<T>(std::clamp<i64>(s + t + carry, INT32_MIN, INT32_MAX));
    }
    lanes_of<T>(warp, inst.d)[i] = to_raw<T>(result);
  });
  if (inst.flag2) warp.carry = (warp.carry & ~mask) | out;
  return Step::Next;
}

Handler choose(Lowering& low, Sum kind, bool takes_carry) {
  Inst& out = low.out;
  const Ty type = low.take_type();
  out.kind = static_cast<u8>(kind);
  out.flag = takes_carry;
  out.flag2 = low.take("cc");
  out.sat = low.take("sat");
  out.d = low.dest(0, type);
  out.a = low.source(1, type);
  out.b = low.source(2, type);
  out.c = low.count() > 3 ? low.source(3, type) : out.b;
  switch (type) {
    case Ty::U16:
      return &extended<u16>;
    case Ty::S16:
      return &extended<i16>;
    case Ty::U32:
      return &extended<u32>;
    case Ty::S32:
      return &extended<i32>;
    case Ty::U64:
      return &extended<u64>;
    default:
      return &extended<i64>;
  }
}

Sum take_half(Lowering& low) {
  return low.take_any({"hi", "lo"}) == "hi" ? Sum::MadHigh : Sum::MadLow;
}

}  // namespace

Handler select_add_cc(Lowering& low) { return choose(low, Sum::Add, false); }
Handler select_addc(Lowering& low) { return choose(low, Sum::Add, true); }
Handler select_sub_cc(Lowering& low) { return choose(low, Sum::Subtract, false); }
Handler select_subc(Lowering& low) { return choose(low, Sum::Subtract, true); }
Handler select_mad_cc(Lowering& low) { return choose(low, take_half(low), false); }
Handler select_madc(Lowering& low) { return choose(low, take_half(low), true); }

}  // namespace pyptx::emu
