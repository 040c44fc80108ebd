// SPDX-License-Identifier: Apache-2.0
//
// Issue and completion of tcgen05 operations, and what each of them touches. See tcgen05_queue.h.
#include "async/tcgen05_queue.h"

#include "async/tcgen05_tile.h"
#include "machine/cluster.h"
#include "observe/observer.h"
#include "race/detector.h"

namespace pyptx::emu {
namespace {

constexpr u32 kAllHalves = 0xFF;

/// The lanes of D, by 16; A in tensor memory has the same.
u32 halves_of(const TensorOp& op) {
  const u32 lane = TensorAddress::of(op.d).lane;
  const layout::AccumulatorLayout layout = op.layout();
  const bool is_half = layout.cta_group == 1 && layout.m == 64 && !layout.is_ws;
  return is_half ? 0x55U << (lane / 16) : kAllHalves;
}

/// Words of a lane that the scale factors of `count` rows take.
u32 scale_words(const TensorOp& op, u32 count, bool is_b) {
  const layout::AccumulatorLayout layout = op.layout();
  u32 last = 0;
  for (u32 i = 0; i < count; ++i) {
    const layout::ScalePlace place =
        is_b ? layout::scale_b_place(layout, i) : layout::scale_a_place(layout, i);
    last = std::max(last, place.column);
  }
  return last + 1;
}

bool arrive(Cluster& cluster, const TensorOp& op, Cta& cta, u32 offset) {
  ++cluster.progress;
  if (cta.done() && !op.warp->cta->done()) {
    op.warp->active = 1U << op.lane;
    refuse_tensor(
        *op.warp, *op.inst, diag::Kind::EmuAsync,
        "CTA " + std::to_string(cta.rank) + " has exited before the arrival at its mbarrier");
    return false;
  }
  Mbarrier* barrier = cta.mbarriers.find(offset);
  std::optional<std::string> problem = "it is not initialised when a tcgen05.commit arrives";
  if (barrier != nullptr && cluster.races && op.known) {
    cluster.races->arrive(*op.known, cta, offset);
    cluster.races->commit_reaches(op, cta, offset);
  }
  if (barrier != nullptr) problem = MbarrierTable::arrive(*barrier, 1, false);
  if (!problem && cluster.races) cluster.races->follow(cta, *barrier);
  if (!problem) return true;
  const u32 address = cta.rank << kRankShift | offset;
  op.warp->active = 1U << op.lane;
  op.warp->fail(*op.inst,
                diag::Diagnostic(diag::Kind::EmuMbarrier,
                                 {describe_address(*op.warp, Space::Shared, address), *problem}));
  return false;
}

bool commit(Cluster& cluster, const TensorOp& op) {
  const u32 offset = op.barrier & kOffsetMask;
  if (op.cta_mask == 0) {
    return arrive(cluster, op, *cluster.ctas[op.barrier >> kRankShift], offset);
  }
  for (u32 rank = 0; rank < cluster.ctas.size(); ++rank) {
    if (((op.cta_mask >> rank) & 1U) == 0) continue;
    if (!arrive(cluster, op, *cluster.ctas[rank], offset)) return false;
  }
  return true;
}

bool perform(Cluster& cluster, const TensorOp& op) {
  if (op.kind == TensorOp::Kind::Commit) return commit(cluster, op);
  ++cluster.progress;
  const TensorProblem problem = op.kind == TensorOp::Kind::Copy ? copy(op)
                                : op.form.scales != 0           ? multiply_scaled(op)
                                                                : multiply(op);
  if (problem.empty()) return true;
  const std::string& text = op.warp->program->source(*op.inst).spelling->text;
  op.warp->active = 1U << op.lane;
  op.warp->fail(*op.inst, problem.kind == diag::Kind::EmuDescriptor
                              ? diag::Diagnostic(problem.kind, {problem.arguments[0]})
                              : diag::Diagnostic(problem.kind, {text, problem.arguments[0],
                                                                problem.arguments[1]}));
  return false;
}

}  // namespace

std::vector<Cta*> TensorOp::ctas() const {
  Cluster& cluster = *warp->cta->cluster;
  if (cta_group == 1) return {warp->cta};
  const u32 even = warp->cta->rank & ~1U;
  return {cluster.ctas[even].get(), cluster.ctas[even + 1].get()};
}

u32 TensorOp::d_columns() const { return instruction.n / layout::operand_copies(layout()).count; }

std::vector<TensorUse> tensor_uses(const TensorOp& op) {
  std::vector<TensorUse> uses;
  const TensorAddress d = TensorAddress::of(op.d);
  for (Cta* cta : op.ctas()) {
    if (op.kind == TensorOp::Kind::Copy) {
      const layout::CopyShape shape = layout::copy_shape(op.copy);
      u32 halves = 0;
      for (u32 row = 0; row < shape.rows; ++row) {
        for (u32 i = 0; i < shape.copies; ++i) {
          halves |= 1U << ((d.lane + layout::copy_lane(op.copy, row, i)) / 16);
        }
      }
      uses.push_back({{cta, halves, d.column, shape.bytes / 4}, true});
      continue;
    }
    const u32 halves = halves_of(op);
    if (op.form.a_in_tensor_memory) {
      const u32 first = TensorAddress::of(static_cast<u32>(op.a)).column;
      uses.push_back({{cta, halves, first, kTensorRowWords}, false});
    }
    if (op.form.scales != 0) {
      const u32 rows = op.instruction.m / op.cta_group;
      uses.push_back(
          {{cta, kAllHalves, TensorAddress::of(op.scale_a).column, scale_words(op, rows, false)},
           false});
      uses.push_back({{cta, kAllHalves, TensorAddress::of(op.scale_b).column,
                       scale_words(op, op.instruction.n, true)},
                      false});
    }
    uses.push_back({{cta, halves, d.column, op.d_columns()}, true});
  }
  return uses;
}

bool each_shared_chunk(const TensorOp& op, const std::function<bool(Cta&, u32)>& visit) {
  for (Cta* cta : op.ctas()) {
    for (const SharedOperand& operand : shared_operands(op)) {
      const bool is_whole = each_chunk(operand, [&](u32 address, u32) {
        const u32 offset = address & 0x3FFFFU;
        // What leaves shared memory is told when the operation runs.
        if (offset < kSharedReserved || offset + 16 > cta->shared.size()) return true;
        return visit(*cta, offset);
      });
      if (!is_whole) return false;
    }
  }
  return true;
}

bool TensorQueue::issue(Cluster& cluster, const TensorOp& op) {
  if (cluster.races && op.kind != TensorOp::Kind::Commit && !cluster.races->issue(op)) return false;
  // Nothing keeps so many back: the oldest has to be done, whatever the policy.
  if (ops_.size() >= kMostPending && !complete_oldest(cluster)) return false;
  ops_.push_back(op);
  if (cluster.observer) {
    TensorOp& noted = ops_.back();
    noted.ticket = cluster.observer->issued(*op.warp, *op.inst, 0);
    noted.first_use = cluster.observer->tensor_use_count();
    noted.use_count = cluster.observer->tensor_issued(op);
  }
  return !cluster.is_immediate() || complete_oldest(cluster);
}

bool TensorQueue::complete_oldest(Cluster& cluster) {
  const TensorOp op = std::move(ops_.front());
  ops_.pop_front();
  const bool is_good = perform(cluster, op);
  if (op.ticket != 0) cluster.observer->landed(op.ticket);
  if (op.use_count != 0) cluster.observer->tensor_completed(op.first_use, op.use_count);
  return is_good;
}

}  // namespace pyptx::emu
