// SPDX-License-Identifier: Apache-2.0
//
// Issue, completion and groups of bulk copies. See bulk_queue.h.
#include "async/bulk_queue.h"

#include <bit>
#include <cstring>

#include "machine/cluster.h"
#include "memory/relaxed.h"
#include "observe/observer.h"
#include "race/detector.h"

namespace pyptx::emu {
namespace {

/// complete_tx on the mbarrier at `offset` of a CTA.
bool signal(Cluster& cluster, const BulkOp& op, Cta& cta, u32 offset, u64 bytes) {
  ++cluster.progress;
  Mbarrier* barrier = cta.mbarriers.find(offset);
  std::optional<std::string> problem = "it is not initialised when a bulk copy completes";
  if (barrier != nullptr && barrier->last_tx == nullptr) barrier->last_tx = op.inst;
  if (barrier != nullptr) problem = MbarrierTable::complete(*barrier, static_cast<i64>(bytes));
  if (!problem && cluster.races) cluster.races->follow(cta, *barrier);
  if (!problem) return true;
  const u32 address = cta.rank << kRankShift | offset;
  op.warp->active = 1U << op.lane;
  op.warp->fail(*op.inst,
                diag::Diagnostic(diag::Kind::EmuMbarrier,
                                 {describe_address(*op.warp, Space::Shared, address), *problem}));
  return false;
}

void write_shared(const BulkOp& op, Cta& cta, u32 offset, const std::byte* from) {
  cta.defined.add(offset, offset + static_cast<u32>(op.shared_bytes()));
  if (op.kind == BulkOp::Kind::TensorLoad) {
    load_tile(op, cta.shared.data(), offset);
  } else if (op.reduce != ReduceOp::None) {
    reduce(op.reduce, op.type, op.keeps_subnormals, cta.shared.data() + offset, from, op.bytes);
  } else if (op.kind == BulkOp::Kind::ToShared) {
    copy_from_global(cta.shared.data() + offset, from, op.bytes);
  } else {
    std::memcpy(cta.shared.data() + offset, from, op.bytes);
  }
}

/// Whether a CTA that is not the issuer's is still there; false with the fault recorded.
bool is_there(const Cluster& cluster, const BulkOp& op, const Cta& cta, u32 offset) {
  constexpr diag::Kind kKind = diag::Kind::EmuPeerCta;
  if (!cta.done() || cta.rank == op.issuer_rank) return true;
  if (cluster.launch->options.is_ignored(kKind)) return true;
  const u32 address = cta.rank << kRankShift | offset;
  op.warp->active = 1U << op.lane;
  op.warp->fail(*op.inst, diag::Diagnostic(
                              kKind, {"'" + cluster.program->source(*op.inst).spelling->text + "'",
                                      describe_address(*op.warp, Space::Shared, address),
                                      std::to_string(cta.rank), "has ended before it lands"}));
  return false;
}

}  // namespace

bool fail_source(const BulkOp& op, const Cta& cta, u32 offset) {
  fail_uninitialised(*op.warp, *op.inst, op.lane, "bulk copy", Space::Shared,
                     cta.rank << kRankShift | offset);
  return false;
}

u32 signalled_rank(const BulkOp& op, u32 rank) {
  if (op.cta_mask == 0) return op.barrier >> kRankShift;
  return op.is_pair ? (rank & ~1U) | (op.barrier >> kRankShift & 1U) : rank;
}

bool perform(Cluster& cluster, const BulkOp& op) {
  Cta& own = *cluster.ctas[op.shared >> kRankShift];
  const u32 offset = op.shared & kOffsetMask;
  switch (op.kind) {
    case BulkOp::Kind::ToGlobal:
      if (const u32 end = offset + static_cast<u32>(op.bytes); !own.defined.holds(offset, end)) {
        return fail_source(op, own, own.defined.missing(offset, end));
      }
      if (op.reduce != ReduceOp::None) {
        reduce(op.reduce, op.type, op.keeps_subnormals, reinterpret_cast<std::byte*>(op.global),
               own.shared.data() + offset, op.bytes);
      } else {
        copy_to_global(reinterpret_cast<std::byte*>(op.global), own.shared.data() + offset,
                       op.bytes);
      }
      ++cluster.progress;
      return true;
    case BulkOp::Kind::TensorStore:
      ++cluster.progress;
      return store_tile(op, own, offset);
    default:
      break;
  }
  const std::byte* from = reinterpret_cast<const std::byte*>(op.global);
  if (op.kind == BulkOp::Kind::SharedToShared) {
    from =
        cluster.ctas[op.shared_from >> kRankShift]->shared.data() + (op.shared_from & kOffsetMask);
  }
  if (op.kind == BulkOp::Kind::Word || op.kind == BulkOp::Kind::Response) from = op.data.data();
  const u32 barrier = op.barrier & kOffsetMask;
  if (op.cta_mask == 0) {
    if (!is_there(cluster, op, own, offset)) return false;
    write_shared(op, own, offset, from);
    Cta& signalled = *cluster.ctas[op.barrier >> kRankShift];
    if (cluster.races) cluster.races->landed(op, own, signalled, barrier);
    return signal(cluster, op, signalled, barrier, op.bytes);
  }
  for (u32 rank = 0; rank < cluster.ctas.size(); ++rank) {
    if (((op.cta_mask >> rank) & 1U) == 0) continue;
    Cta& cta = *cluster.ctas[rank];
    if (!is_there(cluster, op, cta, offset)) return false;
    write_shared(op, cta, offset, from);
    Cta& signalled = *cluster.ctas[signalled_rank(op, rank)];
    if (cluster.races) cluster.races->landed(op, cta, signalled, barrier);
    if (!signal(cluster, op, signalled, barrier, op.bytes)) return false;
  }
  return true;
}

bool BulkQueue::issue(Cluster& cluster, const BulkOp& op) {
  if (cluster.races && !cluster.races->issue(op)) return false;
  // Nothing keeps so many back: the oldest has to land, whatever the policy.
  if (ops_.size() >= kMostPending && !complete(cluster, 0)) return false;
  ops_.push_back(op);
  if (cluster.observer) ops_.back().ticket = cluster.observer->issued(op);
  return !cluster.is_immediate() || complete(cluster, ops_.size() - 1);
}

bool BulkQueue::complete(Cluster& cluster, std::size_t index) {
  const BulkOp op = ops_[index];
  ops_.erase(ops_.begin() + static_cast<std::ptrdiff_t>(index));
  const bool is_good = perform(cluster, op);
  if (op.ticket != 0) cluster.observer->landed(op.ticket);
  return is_good;
}

bool BulkQueue::complete_group(Cluster& cluster, const Warp& warp, u32 lane, u64 end) {
  for (std::size_t i = 0; i < ops_.size();) {
    const BulkOp& op = ops_[i];
    if (op.has_group && op.warp == &warp && op.lane == lane && op.group < end) {
      if (!complete(cluster, i)) return false;
    } else {
      ++i;
    }
  }
  return true;
}

void BulkQueue::commit(u32 warp_number, u32 mask) {
  for (u32 lane = 0; lane < kLanes; ++lane) groups_[warp_number][lane] += (mask >> lane) & 1U;
}

}  // namespace pyptx::emu
