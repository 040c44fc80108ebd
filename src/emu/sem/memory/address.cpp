// SPDX-License-Identifier: Apache-2.0
//
// cvta, isspacep, mapa and getctarank: between state spaces and generic addresses, and to the
// shared memory of another CTA of the cluster. Global and const addresses are generic already.
#include "decode/select.h"
#include "machine/cluster.h"
#include "sem/lanes.h"

namespace pyptx::emu {
namespace {

/// imm: the window; flag: .to; register_bytes: 4 or 8.
Step cvta(Warp& warp, const Inst& inst, u32 mask) {
  const u64 window = static_cast<u64>(inst.imm);
  each_active(mask, [&](u32 i) {
    const u64 a = inst.kind2 == 4 ? warp.lanes32(inst.a)[i] : warp.lanes64(inst.a)[i];
    u64 result = a;
    if (window != 0) {
      // Parameter addresses live in their window from the start.
      result =
          inst.flag && inst.space != Space::Param ? a & ~kWindowMask : (a & ~kWindowMask) | window;
    }
    if (inst.register_bytes == 8) {
      warp.lanes64(inst.d)[i] = result;
    } else {
      warp.lanes32(inst.d)[i] = static_cast<u32>(result);
    }
  });
  return Step::Next;
}

/// The address in CTA `b` that corresponds to `a` in this CTA.
Step mapa(Warp& warp, const Inst& inst, u32 mask) {
  const u32 ranks = static_cast<u32>(warp.cta->cluster->ctas.size());
  Step step = Step::Next;
  each_active(mask, [&](u32 i) {
    const u32 rank = warp.lanes32(inst.b)[i];
    if (rank >= ranks && step == Step::Next) {
      warp.active = 1U << i;
      step = warp.fail(
          inst, diag::Diagnostic(diag::Kind::EmuOperandValue,
                                 {warp.program->source(inst).spelling->text,
                                  "CTA " + std::to_string(rank) + " is outside the cluster of " +
                                      std::to_string(ranks)}));
      return;
    }
    const u64 a = inst.kind2 == 4 ? warp.lanes32(inst.a)[i] : warp.lanes64(inst.a)[i];
    const u64 mapped = (a & (kWindowMask | kOffsetMask)) | static_cast<u64>(rank) << kRankShift;
    if (inst.register_bytes == 8) {
      warp.lanes64(inst.d)[i] = mapped;
    } else {
      warp.lanes32(inst.d)[i] = static_cast<u32>(mapped);
    }
  });
  return step;
}

/// Whether a generic address lies in a state space: space, flag: shared memory of any CTA.
Step is_in_space(Warp& warp, const Inst& inst, u32 mask) {
  const GlobalMemory& memory = *warp.cta->cluster->memory;
  u32 value = 0;
  each_active(mask, [&](u32 i) {
    const u64 a = inst.kind2 == 4 ? warp.lanes32(inst.a)[i] : warp.lanes64(inst.a)[i];
    const u64 window = a & kWindowMask;
    const u64 base = memory.const_base();
    const bool is_const = a >= base && a - base < warp.program->const_bytes;
    const bool is_shared = window == kSharedWindow;
    const u32 rank = static_cast<u32>(a & ~kWindowMask) >> kRankShift;
    bool is_so = false;
    switch (inst.space) {
      case Space::Shared:
        is_so = is_shared && rank == warp.cta->rank;
        break;
      case Space::SharedCluster:
        is_so = is_shared && rank < warp.cta->cluster->ctas.size();
        break;
      case Space::Local:
        is_so = window == kLocalWindow;
        break;
      case Space::Param:
        is_so = window == kParamWindow;
        break;
      case Space::Const:
        is_so = is_const;
        break;
      default:
        is_so = !is_const && !is_shared && window != kLocalWindow && window != kParamWindow;
        break;
    }
    value |= (is_so ? 1U : 0U) << i;
  });
  u32& p = warp.predicate(inst.d);
  p = (p & ~mask) | value;
  return Step::Next;
}

/// The rank of the CTA that a shared address belongs to; flag: the address is generic.
Step rank_of(Warp& warp, const Inst& inst, u32 mask) {
  Step step = Step::Next;
  each_active(mask, [&](u32 i) {
    const u64 a = inst.kind2 == 4 ? warp.lanes32(inst.a)[i] : warp.lanes64(inst.a)[i];
    if (inst.flag && (a & kWindowMask) != kSharedWindow && step == Step::Next) {
      warp.active = 1U << i;
      step = warp.fail(inst, diag::Diagnostic(diag::Kind::EmuOperandValue,
                                              {warp.program->source(inst).spelling->text,
                                               hex(a) + " is not an address of shared memory"}));
    }
    warp.lanes32(inst.d)[i] = static_cast<u32>(a & ~kWindowMask) >> kRankShift;
  });
  return step;
}

}  // namespace

Handler select_isspacep(Lowering& low) {
  low.out.space = take_space(low);
  low.out.d = low.predicate_dest(low.operand(0));
  u8 bytes = 0;
  low.out.a = low.source_any(low.operand(1), Ty::U64, bytes);
  low.out.kind2 = bytes;
  return &is_in_space;
}

Handler select_getctarank(Lowering& low) {
  low.out.flag = take_space(low) == Space::Generic;
  const Ty type = low.take_type();
  low.out.d = low.dest(0, Ty::U32);
  low.out.a = low.source(1, type);
  low.out.kind2 = static_cast<u8>(bytes_of(type));
  return &rank_of;
}

Handler select_cvta(Lowering& low) {
  Inst& out = low.out;
  out.flag = low.take("to");
  out.space = take_space(low);
  const Ty type = low.take_type();
  switch (out.space) {
    case Space::Shared:
    case Space::SharedCluster:
      out.imm = static_cast<i64>(kSharedWindow);
      break;
    case Space::Local:
      out.imm = static_cast<i64>(kLocalWindow);
      break;
    case Space::Param:
      out.imm = static_cast<i64>(kParamWindow);
      break;
    default:
      break;
  }
  out.d = low.dest(0, type);
  out.register_bytes = static_cast<u8>(bytes_of(type));
  u8 bytes = 0;
  out.a = low.source_any(low.operand(1), type, bytes);
  out.kind2 =
      low.operand(1).kind == ir::OperandKind::Symbol ? static_cast<u8>(bytes_of(type)) : bytes;
  return &cvta;
}

Handler select_mapa(Lowering& low) {
  Inst& out = low.out;
  take_space(low);
  const Ty type = low.take_type();
  out.d = low.dest(0, type);
  out.register_bytes = static_cast<u8>(bytes_of(type));
  out.kind2 = out.register_bytes;
  out.a = low.source(1, type);
  out.b = low.source(2, Ty::U32);
  return &mapa;
}

}  // namespace pyptx::emu
