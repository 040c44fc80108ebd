// SPDX-License-Identifier: Apache-2.0
//
// cnot, lop3, shf (PTX ISA, "Logic and Shift Instructions") and prmt ("Data Movement and Conversion
// Instructions").
#include <algorithm>

#include "decode/select.h"
#include "sem/lane.h"

namespace pyptx::emu {
namespace {

template <typename T>
struct Cnot {
  T operator()(T a) const { return a == 0 ? 1 : 0; }
};

/// Bit n of the table is the result where a, b and c have the bits of n, a the highest.
u32 look_up(u32 table, u32 a, u32 b, u32 c) {
  u32 result = 0;
  for (u32 n = 0; n < 8; ++n) {
    if (((table >> n) & 1U) == 0) continue;
    result |= ((n & 4U) != 0 ? a : ~a) & ((n & 2U) != 0 ? b : ~b) & ((n & 1U) != 0 ? c : ~c);
  }
  return result;
}

/// imm: the table; kind 1: .and, 2: .or of "the result is not zero" with predicate e, into flip.
Step lookup(Warp& warp, const Inst& inst, u32 mask) {
  u32 nonzero = 0;
  each_active(mask, [&](u32 i) {
    const u32 result = look_up(static_cast<u32>(inst.imm), warp.lanes32(inst.a)[i],
                               warp.lanes32(inst.b)[i], warp.lanes32(inst.c)[i]);
    warp.lanes32(inst.d)[i] = result;
    nonzero |= (result != 0 ? 1U : 0U) << i;
  });
  if (inst.kind == 0) return Step::Next;
  const u32 q = warp.predicate(inst.e) ^ (inst.flag ? kAllLanes : 0);
  const u32 value = inst.kind == 1 ? nonzero & q : nonzero | q;
  u32& p = warp.predicate(inst.flip);
  p = (p & ~mask) | (value & mask);
  return Step::Next;
}

/// a is the low word, b the high word.
template <bool kLeft, bool kClamp>
struct Funnel {
  u32 operator()(u32 a, u32 b, u32 c) const {
    const u32 n = kClamp ? std::min(c, 32U) : c & 31U;
    const u64 both = static_cast<u64>(b) << 32 | a;
    return static_cast<u32>(kLeft ? (both << n) >> 32 : both >> n);
  }
};

enum class Permute : u8 { Index, F4e, B4e, Rc8, Ecl, Ecr, Rc16 };

/// The source byte of byte i in each mode; bit 3 of an index asks for the sign of the byte.
u32 picked(Permute mode, u32 c, u32 i) {
  const u32 n = c & 3U;
  switch (mode) {
    case Permute::F4e:
      return n + i;
    case Permute::B4e:
      return (n - i) & 7U;
    case Permute::Rc8:
      return n;
    case Permute::Ecl:
      return std::max(n, i);
    case Permute::Ecr:
      return std::min(n, i);
    case Permute::Rc16:
      return (n & 1U) * 2 + (i & 1U);
    default:
      return (c >> (4 * i)) & 15U;
  }
}

template <Permute kMode>
struct Bytes {
  u32 operator()(u32 a, u32 b, u32 c) const {
    const u64 both = static_cast<u64>(b) << 32 | a;
    u32 result = 0;
    for (u32 i = 0; i < 4; ++i) {
      const u32 index = picked(kMode, c, i);
      u32 byte = static_cast<u32>(both >> (8 * (index & 7U))) & 0xFFU;
      if (kMode == Permute::Index && (index & 8U) != 0) byte = (byte & 0x80U) != 0 ? 0xFFU : 0;
      result |= byte << (8 * i);
    }
    return result;
  }
};

}  // namespace

Handler select_cnot(Lowering& low) {
  const Ty type = low.take_type();
  low.out.d = low.dest(0, type);
  low.out.a = low.source(1, type);
  switch (bytes_of(type)) {
    case 2:
      return &map1<Cnot<u16>, u16, u16>;
    case 4:
      return &map1<Cnot<u32>, u32, u32>;
    default:
      return &map1<Cnot<u64>, u64, u64>;
  }
}

Handler select_lop3(Lowering& low) {
  Inst& out = low.out;
  const std::string_view combine = low.take_any({"and", "or"});
  const Ty type = low.take_type();
  out.kind = combine.empty() ? 0 : combine == "and" ? 1 : 2;
  if (out.kind != 0) {
    out.d = low.dest(low.child(low.operand(0), 0), type);
    out.flip = low.predicate_dest(low.child(low.operand(0), 1));
    out.e = low.predicate(low.operand(5), out.flag);
  } else {
    out.d = low.dest(0, type);
  }
  out.a = low.source(1, type);
  out.b = low.source(2, type);
  out.c = low.source(3, type);
  const std::optional<i64> table = low.literal(low.operand(4));
  if (!table) return low.refuse("its table is not a literal");
  out.imm = *table;
  return &lookup;
}

Handler select_shf(Lowering& low) {
  const bool is_left = low.take_any({"l", "r"}) == "l";
  const bool is_clamp = low.take_any({"clamp", "wrap"}) == "clamp";
  const Ty type = low.take_type();
  low.out.d = low.dest(0, type);
  low.out.a = low.source(1, type);
  low.out.b = low.source(2, type);
  low.out.c = low.source(3, Ty::U32);
  if (is_left) {
    return is_clamp ? &map3<Funnel<true, true>, u32, u32> : &map3<Funnel<true, false>, u32, u32>;
  }
  return is_clamp ? &map3<Funnel<false, true>, u32, u32> : &map3<Funnel<false, false>, u32, u32>;
}

Handler select_prmt(Lowering& low) {
  const Ty type = low.take_type();
  const std::string_view mode = low.take_any({"f4e", "b4e", "rc8", "ecl", "ecr", "rc16"});
  low.out.d = low.dest(0, type);
  low.out.a = low.source(1, type);
  low.out.b = low.source(2, type);
  low.out.c = low.source(3, type);
  if (mode == "f4e") return &map3<Bytes<Permute::F4e>, u32, u32>;
  if (mode == "b4e") return &map3<Bytes<Permute::B4e>, u32, u32>;
  if (mode == "rc8") return &map3<Bytes<Permute::Rc8>, u32, u32>;
  if (mode == "ecl") return &map3<Bytes<Permute::Ecl>, u32, u32>;
  if (mode == "ecr") return &map3<Bytes<Permute::Ecr>, u32, u32>;
  if (mode == "rc16") return &map3<Bytes<Permute::Rc16>, u32, u32>;
  return &map3<Bytes<Permute::Index>, u32, u32>;
}

}  // namespace pyptx::emu
