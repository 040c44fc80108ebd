// SPDX-License-Identifier: Apache-2.0
//
// membar, fence and griddepcontrol (PTX ISA, "Parallel Synchronization and Communication
// Instructions: membar, fence; griddepcontrol"). Memory operations take effect in the order of
// execution, so a fence has nothing left to order here: it tells the race detector what it orders.
#include "decode/select.h"
#include "machine/cluster.h"
#include "race/detector.h"
#include "sem/lanes.h"

namespace pyptx::emu {
namespace {

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

}  // namespace

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

Handler select_griddepcontrol(Lowering& low) {
  return low.take_any({"launch_dependents", "wait"}) == "wait" ? &wait_for_grids
                                                               : &launch_dependents;
}

}  // namespace pyptx::emu
