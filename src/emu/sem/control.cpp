// SPDX-License-Identifier: Apache-2.0
//
// bra, brx.idx, ret, exit, trap, brkpt, nanosleep, setmaxnreg, griddepcontrol, pmevent and fences
// (PTX ISA, "Control Flow Instructions", "Miscellaneous Instructions", "membar, fence"). Memory
// operations take effect in the order of execution, so a fence has nothing left to order here.
#include "sem/control.h"

#include <algorithm>
#include <string>

#include "cluster.h"
#include "lanes.h"
#include "race/detector.h"
#include "select.h"

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
/// Behind it, the asynchronous proxy sees what the thread knows. flag: of shared memory, flag2: of
/// global memory.
Step fence_proxy(Warp& warp, const Inst& inst, u32 mask) {
  if (RaceDetector* races = warp.cta->cluster->races.get()) {
    races->fence_proxy(warp, mask, inst.flag, inst.flag2);
  }
  return Step::Next;
}
/// One half of that, or both. e: order and scope.
Step fence_halves(Warp& warp, const Inst& inst, u32 mask) {
  if (RaceDetector* races = warp.cta->cluster->races.get()) {
    AccessRequest order;
    set_order(inst.e, order);
    races->fence_halves(warp, mask, order.semantics, order.scope);
  }
  return Step::Next;
}
/// Between threads and the tensormap proxy. e: order and scope; flag: what is acquired has an
/// address.
Step fence_maps(Warp& warp, const Inst& inst, u32 mask) {
  AccessRequest request;
  set_order(inst.e, request);
  RaceDetector* races = warp.cta->cluster->races.get();
  if (races != nullptr && releases(request.semantics)) {
    races->release_maps(warp, mask, request.scope);
  }
  if (!acquires(request.semantics)) return Step::Next;
  const auto address_of = [&](u32 lane) { return inst.flag ? lane_address(warp, inst, lane) : 0; };
  for (u32 rest = mask; rest != 0;) {
    const u32 lane = Warp::first_lane(rest);
    const u64 address = address_of(lane);
    u32 same = 0;
    each_active(rest, [&](u32 i) { same |= (address_of(i) == address ? 1U : 0U) << i; });
    rest &= ~same;
    if (inst.flag) {
      const AccessRequest map{
          Space::Global,         address, 128, 1, lane, false, "acquired tensor map",
          AccessOrder::Elsewhere};
      if (resolve(warp, inst, map) == nullptr) return Step::Fault;
    }
    if (races != nullptr) races->acquire_map(warp, same, address, request.scope);
  }
  return Step::Next;
}
/// fence.mbarrier_init
Step fence_inits(Warp& warp, const Inst&, u32 mask) {
  if (RaceDetector* races = warp.cta->cluster->races.get()) races->fence_inits(warp, mask);
  return Step::Next;
}
/// e: order and scope.
Step fence(Warp& warp, const Inst& inst, u32 mask) {
  if (RaceDetector* races = warp.cta->cluster->races.get()) {
    AccessRequest order;
    set_order(inst.e, order);
    races->fence(warp, mask, order.semantics, order.scope);
  }
  return Step::Next;
}
/// What a launch before this one did is complete when this one begins: see pyptx/emu/stream.h.
Step launch_dependents(Warp& warp, const Inst&, u32) {
  warp.cta->cluster->has_launched_dependents = true;
  return Step::Next;
}
Step wait_for_grids(Warp& warp, const Inst&, u32 mask) {
  if (RaceDetector* races = warp.cta->cluster->races.get()) races->wait_for_grids(warp, mask);
  return Step::Next;
}
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

Handler select_griddepcontrol(Lowering& low) {
  return low.take_any({"launch_dependents", "wait"}) == "wait" ? &wait_for_grids
                                                               : &launch_dependents;
}

Handler select_fence(Lowering& low) {
  const bool is_async = low.has("async");
  const bool names_proxy = low.is_word("proxy");
  const bool is_proxy = names_proxy && is_async;
  const bool is_map = names_proxy && low.has("tensormap::generic");
  const bool is_init = low.has("mbarrier_init");
  const bool is_half = names_proxy && low.has("async::generic");
  low.out.flag = !low.has("global");
  low.out.flag2 = !low.has("shared::cta") && !low.has("shared::cluster");
  const std::string_view one_way = low.take_any({"acquire", "release"});
  low.out.e = order_of(low, one_way.empty() ? "acq_rel" : one_way);
  low.ignore({"acq_rel", "sc", "acquire", "release", "cta", "cluster", "gpu", "sys", "gl",
              "sync_restrict::shared::cta", "sync_restrict::shared::cluster"});
  low.ignore({"proxy", "async", "alias", "proxy::alias", "mbarrier_init", "op_restrict",
              "async::generic", "tensormap::generic", "global", "shared::cta", "shared::cluster",
              "shared", "async.global", "async.shared::cta", "async.shared::cluster"});
  low.ignore_prefix("proxy");
  low.ignore_prefix("sync_restrict");
  if (is_map) {
    low.out.flag = low.count() > 0;
    if (low.out.flag) set_address(low, low.address(low.operand(0)), Space::Generic);
    return &fence_maps;
  }
  if (is_init) return &fence_inits;
  if (is_half) return &fence_halves;
  if (is_proxy) return &fence_proxy;
  return names_proxy ? &nothing : &fence;
}

/// A performance counter that nobody reads.
Handler select_pmevent(Lowering& low) {
  low.take("mask");
  return &nothing;
}

}  // namespace pyptx::emu
