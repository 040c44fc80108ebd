// SPDX-License-Identifier: Apache-2.0
//
// Completion of non-bulk copies. See copy_queue.h.
#include "async/copy_queue.h"

#include <cstring>
#include <string>

#include "machine/cluster.h"
#include "memory/relaxed.h"
#include "observe/observer.h"
#include "race/detector.h"

namespace pyptx::emu {

void CopyQueue::commit(u32 mask) {
  for (u32 lane = 0; lane < kLanes; ++lane) groups_[lane] += (mask >> lane) & 1U;
}

bool CopyQueue::finish(Cluster& cluster, Op& op, u32 lane, std::string& problem) {
  if (((op.pending >> lane) & 1U) == 0) return true;
  op.pending &= ~(1U << lane);
  if (!op.is_arrive) {
    copy_from_global(op.to[lane], op.from[lane], op.from_bytes[lane]);
    std::memset(op.to[lane] + op.from_bytes[lane], 0, op.bytes - op.from_bytes[lane]);
    Cta& own = *op.warp->cta;
    const u32 offset = static_cast<u32>(op.to[lane] - own.shared.data());
    own.defined.add(offset, offset + op.bytes);
    if (op.ticket != 0 && op.pending == 0) cluster.observer->landed(op.ticket);
    return true;
  }
  Cta& cta = *cluster.ctas[op.barrier[lane] >> kRankShift];
  Mbarrier* barrier = cta.mbarriers.find(op.barrier[lane] & kOffsetMask);
  if (barrier == nullptr) {
    problem = "it was invalidated before the arrival of a cp.async came";
    return false;
  }
  ++cluster.progress;
  if (cluster.races) cluster.races->copies_arrived(*op.warp, lane, op.era, cta, barrier->address);
  if (auto wrong = MbarrierTable::arrive(*barrier, 1, false)) {
    problem = *wrong;
    return false;
  }
  if (cluster.races) cluster.races->follow(cta, *barrier);
  return true;
}

void CopyQueue::drop_done() {
  while (!ops_.empty() && ops_.front().pending == 0) ops_.pop_front();
}

bool CopyQueue::complete_lane(Cluster& cluster, u32 lane, u64 end, std::string& problem) {
  for (Op& op : ops_) {
    if (op.group[lane] < end && !finish(cluster, op, lane, problem)) return false;
  }
  drop_done();
  return true;
}

bool CopyQueue::complete_oldest(Cluster& cluster, std::string& problem) {
  Op& op = ops_.front();
  for (u32 lane = 0; lane < kLanes; ++lane) {
    if (!finish(cluster, op, lane, problem)) return false;
  }
  drop_done();
  return true;
}

}  // namespace pyptx::emu
