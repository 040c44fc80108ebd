// SPDX-License-Identifier: Apache-2.0
//
// Order of matrix operations in a warpgroup. See wgmma_queue.h.
#include "async/wgmma_queue.h"

#include "machine/cluster.h"
#include "observe/observer.h"

namespace pyptx::emu {

WgmmaOp& WarpgroupQueue::next(u32 warp_in_group, bool& is_new) {
  WarpState& warp = warps_[warp_in_group];
  const u64 number = warp.issued++;
  is_new = number == first_ + ops_.size();
  if (is_new) ops_.emplace_back().group = warp.groups;
  WgmmaOp& op = ops_[number - first_];
  op.issued |= 1U << warp_in_group;
  return op;
}

void WarpgroupQueue::WarpState::fly(const Inst& inst) {
  for (auto& [flying_inst, group] : flying) {
    if (flying_inst != &inst) continue;
    group = groups;
    return;
  }
  flying.emplace_back(&inst, groups);
}

bool WarpgroupQueue::complete_oldest(Cta& cta, u32 warpgroup) {
  WgmmaOp& op = ops_.front();
  if (op.issued != 0xFU) return false;
  run(cta, warpgroup, op);
  drop_done();
  return true;
}

void WarpgroupQueue::run(Cta& cta, u32 warpgroup, WgmmaOp& op) {
  perform(cta, warpgroup, op);
  op.is_done = true;
  if (op.ticket != 0) cta.cluster->observer->landed(op.ticket);
}

bool WarpgroupQueue::complete(Cta& cta, u32 warpgroup, u64 end) {
  for (WgmmaOp& op : ops_) {
    if (op.is_done) continue;
    if (op.group >= end) break;
    if (op.issued != 0xFU) return false;
    run(cta, warpgroup, op);
  }
  drop_done();
  return true;
}

bool WarpgroupQueue::is_open(u64 end) const {
  for (const WgmmaOp& op : ops_) {
    if (!op.is_done && op.group < end) return true;
  }
  return false;
}

void WarpgroupQueue::drop_done() {
  while (!ops_.empty() && ops_.front().is_done) {
    ops_.pop_front();
    ++first_;
  }
}

}  // namespace pyptx::emu
