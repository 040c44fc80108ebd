// SPDX-License-Identifier: Apache-2.0
//
// prefetch, applypriority, discard, createpolicy (PTX ISA, "Data Movement and Conversion
// Instructions"). There is no cache here: addresses are checked, and what discard leaves behind is
// made visible.
#include <array>

#include "decode/select.h"
#include "memory/memory.h"
#include "memory/relaxed.h"
#include "sem/lane.h"

namespace pyptx::emu {
namespace {

constexpr u32 kLine = 128;

/// A hint to fetch; an address that is not there is no error.
Step hint(Warp&, const Inst&, u32) { return Step::Next; }

/// flag: discard, after which the line holds anything.
Step touch_line(Warp& warp, const Inst& inst, u32 mask) {
  Step step = Step::Next;
  each_active(mask, [&](u32 i) {
    if (step != Step::Next) return;
    AccessRequest request;
    request.space = inst.space;
    request.address = lane_address(warp, inst, i);
    request.bytes = request.align = kLine;
    request.lane = i;
    request.is_write = inst.flag;
    request.what = inst.flag ? "discard" : "applypriority";
    request.order = AccessOrder::Elsewhere;  // no value is read or made
    std::byte* at = resolve(warp, inst, request);
    if (at == nullptr) {
      step = Step::Fault;
    } else if (inst.flag) {
      std::array<std::byte, kLine> anything;
      anything.fill(std::byte{0xA5});
      copy_to_global(at, anything.data(), kLine);
    }
  });
  return step;
}

/// A policy is opaque: any number will do, as long as it is the same for the same priorities.
Step make_policy(Warp& warp, const Inst& inst, u32 mask) {
  each_active(mask, [&](u32 i) { warp.lanes64(inst.d)[i] = static_cast<u64>(inst.imm); });
  return Step::Next;
}

Step copy_policy(Warp& warp, const Inst& inst, u32 mask) {
  each_active(mask, [&](u32 i) { warp.lanes64(inst.d)[i] = warp.lanes64(inst.a)[i]; });
  return Step::Next;
}

Handler line(Lowering& low, bool is_discard) {
  const Space space = take_space(low);
  low.take("L2");
  low.ignore_prefix("L2::");
  low.out.flag = is_discard;
  set_address(low, low.address(low.operand(0)), space);
  return &touch_line;
}

}  // namespace

Handler select_prefetch(Lowering& low) {
  low.ignore({"tensormap", "param", "const", "global", "local", "L1", "L2", "valid_addr"});
  low.ignore_prefix("L1::");
  low.ignore_prefix("L2::");
  return &hint;
}

Handler select_applypriority(Lowering& low) { return line(low, false); }
Handler select_discard(Lowering& low) { return line(low, true); }

Handler select_createpolicy(Lowering& low) {
  constexpr std::string_view kPriorities[] = {"L2::evict_last", "L2::evict_normal",
                                              "L2::evict_first", "L2::evict_unchanged"};
  Inst& out = low.out;
  const bool is_copy = low.take("cvt");
  low.ignore({"range", "fractional", "global", "L2"});
  low.take_type();
  out.d = low.dest(0, Ty::U64);
  if (is_copy) {
    out.a = low.source(1, Ty::U64);
    return &copy_policy;
  }
  u32 word = 1;
  for (u32 turn = 0; turn < 2; ++turn) {
    for (u32 i = 0; i < std::size(kPriorities); ++i) {
      if (low.take(kPriorities[i])) word = word * 8 + i + 1;
    }
  }
  out.imm = word;
  return &make_policy;
}

}  // namespace pyptx::emu
