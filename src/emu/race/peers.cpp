// SPDX-License-Identifier: Apache-2.0
//
// Shared memory of other CTAs of the cluster, which is there from the start of such a CTA to its
// end (PTX ISA, "Cluster of Cooperative Thread Arrays"). Whoever touches it must know of something
// that the CTA did; and a thread of the CTA must know of the access when it exits. Both are judged
// by what is known, so that it does not matter who was faster.
#include <algorithm>
#include <string>

#include "async/tcgen05_queue.h"
#include "machine/cluster.h"
#include "race/advice.h"
#include "race/detector.h"

namespace pyptx::emu {
namespace {

constexpr const char* kClusterBarrier = "barrier.cluster.arrive and barrier.cluster.wait";

}  // namespace

bool RaceDetector::knows_start(const Knowledge& knowledge, u32 rank) const {
  const u32 warps = static_cast<u32>(cluster_.ctas[rank]->warps.size());
  for (u32 actor = rank * warps; actor < (rank + 1) * warps; ++actor) {
    if (knowledge.base.knows(actor) || knowledge.tensor.knows(actor)) return true;
  }
  return false;
}

diag::Diagnostic RaceDetector::peer_diagnostic(const Warp& warp, std::string_view what, u32 rank,
                                               u32 offset, std::string problem) const {
  return {diag::Kind::EmuPeerCta,
          {std::string(what), describe_address(warp, Space::Shared, rank << kRankShift | offset),
           std::to_string(rank), std::move(problem)}};
}

bool RaceDetector::is_started(const View& view, u32 lane, const Cta& cta, u32 offset) {
  if (((view.state.met >> cta.rank) & 1U) != 0) return true;
  if (knows_start(view.state.all, cta.rank)) {
    view.state.met |= 1U << cta.rank;
    return true;
  }
  if (knows_start(view.knowledge, cta.rank)) return true;
  if (cluster_.launch->options.is_ignored(diag::Kind::EmuPeerCta)) return true;
  diag::Diagnostic diagnostic =
      peer_diagnostic(view.warp, view.what, cta.rank, offset,
                      "need not have started: nothing that it does comes before this");
  help(diagnostic, "before the first access", kClusterBarrier);
  view.warp.active = 1U << lane;
  view.warp.fail(view.inst, std::move(diagnostic));
  return false;
}

void RaceDetector::note_peer(u32 actor, Warp& warp, const Cta& cta, const PeerAccess::Last& last) {
  PeerAccess& access = ctas_[cta.rank].peers[actor];
  access.warp = &warp;
  access.many = last;
}

bool RaceDetector::reach(Warp& warp, const Inst& inst, u32 mask, const Cta& cta,
                         std::string_view what, u32 offset) {
  View by = view(warp, inst, mask);
  by.what = what;
  if (!is_started(by, Warp::first_lane(mask), cta, offset)) return false;
  PeerAccess& access = ctas_[cta.rank].peers[by.actor];
  access.warp = &warp;
  for (u32 rest = mask; rest != 0; rest &= rest - 1) {
    access.lanes[Warp::first_lane(rest)] = {by.state.epoch, offset, &inst};
  }
  return true;
}

void RaceDetector::commit_reaches(const TensorOp& op, const Cta& cta, u32 offset) {
  const WarpState& state = warps_[number(*op.warp)];
  const u32 actor = state.tensor_actor[op.lane];
  if (actor == 0 || &cta == op.warp->cta) return;
  note_peer(actor, *op.warp, cta, {state.tensor_issued[op.lane], offset, op.inst});
}

void RaceDetector::exited(Warp& warp, u32 mask, u64 generation) {
  arrive_relaxed(warp, mask, cluster_barrier_, generation);
}

std::unique_ptr<diag::Diagnostic> RaceDetector::outlived() {
  const u32 warps = static_cast<u32>(cluster_.ctas[0]->warps.size());
  const auto is_known = [&](u32 rank, Stamp stamp) {
    return std::any_of(warps_.begin() + rank * warps, warps_.begin() + (rank + 1) * warps,
                       [&](const WarpState& state) {
                         const auto covers = [&](const Knowledge& known) {
                           return known.base.covers(stamp) || known.tensor.covers(stamp);
                         };
                         return covers(state.all) || (state.some_mask != 0 && covers(state.some));
                       });
  };
  for (u32 rank = 0; rank < ctas_.size(); ++rank) {
    for (const auto& [actor, access] : ctas_[rank].peers) {
      const auto tell = [&, &access = access](const PeerAccess::Last& last, u32 lane) {
        const std::string& text = cluster_.program->source(*last.inst).spelling->text;
        diag::Diagnostic diagnostic =
            peer_diagnostic(*access.warp, "'" + text + "'", rank, last.offset,
                            "may have ended: none of its threads knows of this when it exits");
        help(diagnostic, "behind the last access, in all CTAs", kClusterBarrier);
        access.warp->active = 1U << lane;
        access.warp->fail(*last.inst, std::move(diagnostic));
        return std::move(access.warp->fault);
      };
      if (const PeerAccess::Last& last = access.many; last.epoch != 0) {
        if (!is_known(rank, Stamp::make(actor, last.epoch, Stamp::kManyLanes, 0, 0))) {
          return tell(last, 0);
        }
      }
      for (u32 lane = 0; lane < kLanes; ++lane) {
        const PeerAccess::Last& last = access.lanes[lane];
        if (last.epoch == 0 || is_known(rank, Stamp::make(actor, last.epoch, lane, 0, 0))) continue;
        return tell(last, lane);
      }
    }
  }
  return nullptr;
}

}  // namespace pyptx::emu
