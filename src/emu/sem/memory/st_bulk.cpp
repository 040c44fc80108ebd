// SPDX-License-Identifier: Apache-2.0
//
// st.bulk: a run of shared memory set to zero (PTX ISA, "Data Movement and Conversion
// Instructions: st.bulk"). It is a weak store of the thread that executes it.
#include <cstring>

#include "decode/lowering.h"
#include "memory/memory.h"
#include "sem/lane.h"
#include "sem/lanes.h"

namespace pyptx::emu {
namespace {

constexpr u64 kMostBytes = u64{1} << 24;

/// c: the size in bytes (e: its lane bytes).
Step fill(Warp& warp, const Inst& inst, u32 mask) {
  Step step = Step::Next;
  each_active(mask, [&](u32 i) {
    if (step != Step::Next) return;
    const u64 size = inst.e == 8 ? warp.lanes64(inst.c)[i] : warp.lanes32(inst.c)[i];
    if (size % 8 != 0 || size > kMostBytes) {
      warp.active = 1U << i;
      step =
          warp.fail(inst, diag::Diagnostic(diag::Kind::EmuOperandValue,
                                           {warp.program->source(inst).spelling->text,
                                            "the size is " + std::to_string(size) +
                                                " bytes; it must be a multiple of 8 up to 2^24"}));
      return;
    }
    if (size == 0) return;
    AccessRequest request;
    request.space = inst.space;
    request.address = lane_address(warp, inst, i);
    request.bytes = size;
    request.align = 8;
    request.lane = i;
    request.is_write = true;
    request.what = "bulk store";
    if (request.space == Space::Generic && classify(request.address) != Space::SharedCluster) {
      warp.active = 1U << i;
      step = warp.fail(inst, diag::Diagnostic(diag::Kind::EmuOperandValue,
                                              {warp.program->source(inst).spelling->text,
                                               "its address is not one of shared memory"}));
      return;
    }
    std::byte* at = resolve(warp, inst, request);
    if (at == nullptr) {
      step = Step::Fault;
    } else {
      std::memset(at, 0, size);
    }
  });
  return step;
}

}  // namespace

Handler select_st_bulk(Lowering& low) {
  low.ignore({"bulk", "weak"});
  const Space space = take_space(low);
  set_address(low, low.address(low.operand(0)), space);
  u8 bytes = 0;
  low.out.c = low.source_any(low.operand(1), Ty::U64, bytes);
  low.out.e = bytes;
  return &fill;
}

}  // namespace pyptx::emu
