// SPDX-License-Identifier: Apache-2.0
//
// SIMD video instructions (PTX ISA, "SIMD Video Instructions"): two halves or four bytes at a time,
// each picked from both sources; a mask of d with a merge or a sum.
#include <array>

#include "decode/select.h"
#include "sem/arithmetic/compare.h"
#include "sem/arithmetic/video.h"

namespace pyptx::emu {
namespace {

struct Picks {
  std::array<u8, 4> a{};  // element of the pair {b, a}
  std::array<u8, 4> b{};
  u32 mask = 0;
};

Picks picks_of(Warp& warp, const Inst& inst) {
  const u32* list = warp.program->lists.data() + inst.list;
  Picks picks;
  for (u32 i = 0; i < 4; ++i) {
    picks.a[i] = static_cast<u8>((list[0] >> (8 * i)) & 0xFFU);
    picks.b[i] = static_cast<u8>((list[1] >> (8 * i)) & 0xFFU);
  }
  picks.mask = list[2];
  return picks;
}

i64 apply(const Inst& inst, i64 a, i64 b) {
  const auto op = static_cast<VideoOp>(inst.kind);
  switch (op) {
    case VideoOp::Average:
      return a + b >= 0 ? (a + b + 1) >> 1 : (a + b) >> 1;
    case VideoOp::Set:
      return holds(static_cast<Cmp>(inst.kind2), a, b) ? 1 : 0;
    default:
      return combined(op, a, b);
  }
}

/// element_bytes: 1 or 2; flag: .add; target: signs of a (1), b (2), d (4).
Step simd(Warp& warp, const Inst& inst, u32 mask) {
  const Picks picks = picks_of(warp, inst);
  const u32 bits = 8U * inst.element_bytes;
  const u32 count = 32 / bits;
  const bool is_signed_d = (inst.target & 4U) != 0;
  each_active(mask, [&](u32 i) {
    const u64 both = static_cast<u64>(warp.lanes32(inst.b)[i]) << 32 | warp.lanes32(inst.a)[i];
    const u32 c = warp.lanes32(inst.c)[i];
    u32 result = inst.flag ? c : 0;
    for (u32 k = 0; k < count; ++k) {
      const u64 field = low_bits(~0ULL, bits) << (bits * k);
      if (((picks.mask >> k) & 1U) == 0) {
        if (!inst.flag) result |= static_cast<u32>(c & field);
        continue;
      }
      const u64 x = both >> (bits * picks.a[k]);
      const u64 y = both >> (bits * picks.b[k]);
      i64 value = apply(inst, wrapped(static_cast<i64>(x), bits, (inst.target & 1U) != 0),
                        wrapped(static_cast<i64>(y), bits, (inst.target & 2U) != 0));
      if (inst.sat) value = clamped(value, bits, is_signed_d);
      if (inst.flag) {
        result += static_cast<u32>(value);
      } else {
        result |= static_cast<u32>((static_cast<u64>(value) << (bits * k)) & field);
      }
    }
    warp.lanes32(inst.d)[i] = result;
  });
  return Step::Next;
}

/// The digits of "h10" or "b7654" as elements, the last digit for element 0.
u32 pick(const ir::Operand& operand, u32 count, u32 first) {
  u32 packed = 0;
  for (u32 k = 0; k < count; ++k) {
    u32 element = first + k;
    if (operand.component == ir::kVideoSelector) {
      element = static_cast<u32>((operand.value >> (8 * (count - k))) & 0xFF) - '0';
    }
    packed |= element << (8 * k);
  }
  return packed;
}

/// The elements that the mask of d names; all without one.
u32 mask_of(const ir::Operand& operand, u32 count) {
  if (operand.component != ir::kVideoSelector) return (1U << count) - 1;
  u32 mask = 0;
  for (u64 rest = static_cast<u64>(operand.value) >> 8; rest != 0; rest >>= 8) {
    mask |= 1U << ((rest & 0xFFU) - '0');
  }
  return mask;
}

ir::Operand whole(ir::Operand operand) {
  operand.component = 0;
  return operand;
}

Handler choose(Lowering& low, VideoOp op, u32 count) {
  Inst& out = low.out;
  const Ty d = op == VideoOp::Set ? Ty::U32 : low.take_type();
  const Ty a = low.take_type();
  const Ty b = low.take_type();
  out.kind = static_cast<u8>(op);
  out.element_bytes = static_cast<u8>(4 / count);
  out.target = (is_signed(a) ? 1U : 0) | (is_signed(b) ? 2U : 0) | (is_signed(d) ? 4U : 0);
  out.sat = low.take("sat");
  out.flag = low.take("add");
  if (op == VideoOp::Set) {
    const std::optional<Cmp> cmp = take_compare(low, false);
    if (!cmp) return nullptr;
    out.kind2 = static_cast<u8>(*cmp);
  }
  const u32 list[] = {pick(low.operand(1), count, 0), pick(low.operand(2), count, count),
                      mask_of(low.operand(0), count)};
  low.set_list(list);
  out.d = low.dest(whole(low.operand(0)), d);
  out.a = low.source(whole(low.operand(1)), a);
  out.b = low.source(whole(low.operand(2)), b);
  out.c = low.source(low.operand(3), d);
  return &simd;
}

}  // namespace

Handler select_vadd2(Lowering& low) { return choose(low, VideoOp::Add, 2); }
Handler select_vsub2(Lowering& low) { return choose(low, VideoOp::Sub, 2); }
Handler select_vavrg2(Lowering& low) { return choose(low, VideoOp::Average, 2); }
Handler select_vabsdiff2(Lowering& low) { return choose(low, VideoOp::AbsDiff, 2); }
Handler select_vmin2(Lowering& low) { return choose(low, VideoOp::Min, 2); }
Handler select_vmax2(Lowering& low) { return choose(low, VideoOp::Max, 2); }
Handler select_vset2(Lowering& low) { return choose(low, VideoOp::Set, 2); }
Handler select_vadd4(Lowering& low) { return choose(low, VideoOp::Add, 4); }
Handler select_vsub4(Lowering& low) { return choose(low, VideoOp::Sub, 4); }
Handler select_vavrg4(Lowering& low) { return choose(low, VideoOp::Average, 4); }
Handler select_vabsdiff4(Lowering& low) { return choose(low, VideoOp::AbsDiff, 4); }
Handler select_vmin4(Lowering& low) { return choose(low, VideoOp::Min, 4); }
Handler select_vmax4(Lowering& low) { return choose(low, VideoOp::Max, 4); }
Handler select_vset4(Lowering& low) { return choose(low, VideoOp::Set, 4); }

}  // namespace pyptx::emu
