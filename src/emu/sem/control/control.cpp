// SPDX-License-Identifier: Apache-2.0
//
// bra, brx.idx, ret, exit, trap, brkpt, nanosleep, setmaxnreg and pmevent (PTX ISA, "Control Flow
// Instructions", "Miscellaneous Instructions").
#include "sem/control/control.h"

#include <algorithm>
#include <string>

#include "decode/select.h"
#include "machine/cluster.h"
#include "sem/lanes.h"

namespace pyptx::emu {
namespace {

Step jump(Warp& warp, const Inst& inst, u32 mask) { return warp.branch(mask, inst.target); }

/// a: the index; the list: where each goes.
Step jump_by_table(Warp& warp, const Inst& inst, u32 mask) {
  const u32* targets = warp.program->lists.data() + inst.list;
  std::vector<std::pair<u32, u32>> groups;
  for (u32 rest = mask; rest != 0; rest &= rest - 1) {
    const u32 lane = Warp::first_lane(rest);
    const u32 index = warp.lanes32(inst.a)[lane];
    if (index >= inst.list_count) {
      warp.active = 1U << lane;
      return warp.fail(inst,
                       diag::Diagnostic(diag::Kind::EmuOperandValue,
                                        {warp.program->source(inst).spelling->text,
                                         "index " + std::to_string(index) + " is beyond its " +
                                             std::to_string(inst.list_count) + " targets"}));
    }
    const auto known = std::ranges::find(groups, targets[index], &std::pair<u32, u32>::second);
    if (known != groups.end()) {
      known->first |= 1U << lane;
    } else {
      groups.emplace_back(1U << lane, targets[index]);
    }
  }
  return warp.scatter(groups);
}

Step leave(Warp& warp, const Inst&, u32 mask) { return warp.exit_lanes(mask); }
Step nothing(Warp&, const Inst&, u32) { return Step::Next; }
Step pause(Warp&, const Inst&, u32) { return Step::Yield; }

Step trap(Warp& warp, const Inst& inst, u32 mask) {
  warp.active = mask;
  return warp.fail(
      inst, diag::Diagnostic(diag::Kind::EmuTrap, {warp.program->source(inst).spelling->text}));
}

Step set_registers(Warp& warp, const Inst& inst, u32 mask) {
  return warp.converge(inst, warp.live, mask);
}

}  // namespace

Handler exit_handler() { return &leave; }

Handler select_bra(Lowering& low) {
  low.take("uni");
  low.out.target = low.label(low.operand(0));
  if (low.out.target == ~0U) return low.refuse("its label is not in this function");
  return &jump;
}

Handler select_brx(Lowering& low) {
  low.ignore({"idx", "uni"});
  low.out.a = low.source(0, Ty::U32);
  const std::vector<u32> targets = low.branch_targets(low.operand(1));
  if (targets.empty()) return low.refuse("its list of targets is not in this function");
  low.set_list(targets);
  return &jump_by_table;
}

Handler select_ret(Lowering& low) {
  low.take("uni");
  return &leave;
}
Handler select_exit(Lowering&) { return &leave; }
Handler select_trap(Lowering&) { return &trap; }

Handler select_nanosleep(Lowering& low) {
  low.take_type();
  return &pause;
}

Handler select_setmaxnreg(Lowering& low) {
  low.ignore({"inc", "dec", "sync", "aligned"});
  low.take_type();
  const std::optional<i64> count = low.literal(low.operand(0));
  if (!count || *count < 24 || *count > 256 || *count % 8 != 0) {
    return low.refuse("the register count must be a multiple of 8 within 24 and 256");
  }
  return &set_registers;
}

/// A performance counter that nobody reads.
Handler select_pmevent(Lowering& low) {
  low.take("mask");
  return &nothing;
}

}  // namespace pyptx::emu
