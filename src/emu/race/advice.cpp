// SPDX-License-Identifier: Apache-2.0
//
// What would have ordered two accesses: which barrier, wait or fence is missing, and for a wait
// that was there but did not wait, why it passed.
#include "race/advice.h"

#include <algorithm>

#include "decode/label.h"
#include "machine/cluster.h"
#include "pyptx/support/concat.h"
#include "race/detector.h"

namespace pyptx::emu {

void help(diag::Diagnostic& diagnostic, std::string reason, std::string instruction) {
  std::move(diagnostic).fix(std::move(instruction), std::move(reason));
}

void advise_clusters(diag::Diagnostic& diagnostic) {
  help(diagnostic, "the threads are of two clusters; what is missing between the two accesses",
       "st.release.gpu of a flag behind the first and ld.acquire.gpu of it before the second");
}

void advise_same_value(diag::Diagnostic& diagnostic) {
  help(diagnostic, "let one thread store it; or, where all of them may",
       "st.relaxed with a scope that has the other threads in it");
}

void RaceDetector::note_wait(Warp& warp, const Inst& inst, u32 mask, const PassedWait& wait) {
  PassedWait& last = warps_[number(warp)].waited;
  last = wait;
  last.mask = mask;
  last.inst = &inst;
}

void RaceDetector::advise_mbarrier(diag::Diagnostic& diagnostic, const View& view, u32 lane,
                                   Stamp other) const {
  const Program& program = *cluster_.program;
  for (u32 rank = 0; rank < ctas_.size(); ++rank) {
    for (const auto& [address, known] : ctas_[rank].mbarriers) {
      if (known.actor != other.actor()) continue;
      const bool is_pending = other.epoch() == Stamp::kPending;
      const u64 phase = is_pending ? known.phase : other.epoch() - known.first - 1;
      const std::string parity = std::to_string(phase & 1U);
      const std::string name =
          describe_address(view.warp, Space::Shared, rank << kRankShift | address);
      const PassedWait& wait = view.state.waited;
      const bool is_of_it = wait.inst != nullptr && wait.rank == rank && wait.barrier == address;
      if (is_of_it && lane < kLanes && ((wait.mask >> lane) & 1U) == 0) {
        diagnostic->labels.push_back(
            label_at(program, *wait.inst, "lanes " + hex(wait.mask) + " have waited here"));
        help(diagnostic, "every thread that reads must wait, or meet one that has",
             "mbarrier.try_wait.parity, or bar.sync behind the wait");
        return;
      }
      if (is_of_it && wait.is_parity && wait.at_once && wait.parity != (phase & 1U)) {
        diagnostic->labels.push_back(label_at(
            program, *wait.inst, "passed at once, with parity " + std::to_string(wait.parity)));
        diagnostic->notes.push_back(support::concat(
            "the mbarrier at ", name, " was in phase ", wait.phase, ": a wait for parity ",
            wait.parity, " is for the phase before, which is complete; parity ", parity,
            " would have waited"));
        return;
      }
      help(diagnostic,
           "the copy is complete when phase " + std::to_string(phase) + " of the mbarrier at " +
               name + " is; wait for it first",
           "mbarrier.try_wait.parity with parity " + parity);
      return;
    }
  }
}

void RaceDetector::advise_race(diag::Diagnostic& diagnostic, const View& view,
                               const Reader& other) const {
  if (other.cluster != cluster_.index) return advise_clusters(diagnostic);
  const u32 warps = static_cast<u32>(view.warp.cta->warps.size());
  const u32 owner = owners_[other.stamp.actor()];
  if (owner == view.actor) {
    help(diagnostic, "the threads are of one warp; what is missing between the two accesses",
         "bar.warp.sync");
  } else if (owner / warps == view.actor / warps) {
    help(diagnostic, "the threads are of one CTA; what is missing between the two accesses",
         "bar.sync, or an mbarrier's arrival behind the first and a wait before the second");
  } else {
    help(diagnostic,
         "the threads are of two CTAs of a cluster; what is missing between the two accesses",
         "barrier.cluster.arrive and barrier.cluster.wait");
  }
}

bool RaceDetector::advise_pattern(diag::Diagnostic& diagnostic, const View& view,
                                  const Reader& other) const {
  const bool is_own = other.cluster == cluster_.index;
  const u32 warps = static_cast<u32>(view.warp.cta->warps.size());
  const bool is_near =
      is_own && owners_[other.stamp.actor()] / warps == view.warp.cta->rank;  // of the same CTA
  const std::string scope = is_near ? ".cta" : is_own ? ".cluster" : ".gpu";
  if (view.is_strong && other.stamp.is_strong()) {
    diagnostic->notes.push_back("both are strong, but the scope of one does not reach the other");
    help(diagnostic, "what both need, or a wider one", "scope " + scope);
    return true;
  }
  const auto covers = [&](const Knowledge& seen) {
    if (is_own) return seen.base.covers(other.stamp);
    const Clocks* known = seen.foreign.of(other.cluster);
    return known != nullptr && known->base.covers(other.stamp);
  };
  if (std::ranges::any_of(view.state.glimpsed, covers)) {
    diagnostic->notes.push_back("a relaxed access has seen a release of what was done there");
    help(diagnostic, "behind that access and before this one",
         "fence.acq_rel" + scope + "; or .acquire" + scope + " in place of .relaxed");
    return true;
  }
  if (view.state.missed_pc == ~0U || is_near) return false;
  const ir::Instruction& source =
      cluster_.program->source(cluster_.program->code[view.state.missed_pc]);
  diagnostic->notes.push_back("'" + source.spelling->text +
                              "' was seen to write, but not all scopes between it and here reach "
                              "the other: it orders nothing");
  help(diagnostic, "what the release, the acquire and the fences beside them need, or a wider one",
       "scope " + scope);
  return true;
}

void RaceDetector::advise(diag::Diagnostic& diagnostic, const View& view, u32 lane,
                          const Reader& other, bool other_wrote) const {
  const bool is_own = other.cluster == cluster_.index;
  switch (diagnostic.kind) {
    case diag::Kind::EmuProxyFence:
      return help(diagnostic,
                  is_own ? std::string("the thread that ") + (other_wrote ? "wrote" : "read") +
                               " there needs, behind its access and before the barrier"
                         : "between the acquire and the copy",
                  "fence.proxy.async");
    case diag::Kind::EmuTensorOrder:
      return help(diagnostic, "around the barrier between the two threads",
                  "tcgen05.fence::before_thread_sync before it, tcgen05.fence::after_thread_sync "
                  "behind it");
    case diag::Kind::EmuSameValue:
      return advise_same_value(diagnostic);
    case diag::Kind::EmuWeakRead:
      return help(diagnostic, "where the load is to see what the atomic has made of it",
                  "ld.relaxed with a scope that has the other thread in it");
    default:
      break;
  }
  const u32 actor = other.stamp.actor();
  const bool is_thread = is_own ? this->is_thread(actor) : actor < warps_.size();
  const bool may_be_told = !is_own || is_thread || channels_[actor] == Channel::BulkWrites;
  if (may_be_told && advise_pattern(diagnostic, view, other)) return;
  if (is_thread && (diagnostic.kind == diag::Kind::EmuRace || !is_own)) {
    return advise_race(diagnostic, view, other);
  }
  if (is_own) return advise_channel(diagnostic, view, lane, other.stamp);
  help(diagnostic, "the CTA that issued the copy must wait until it is complete, and say so",
       "cp.async.bulk.wait_group or a wait for its mbarrier, then st.release.gpu of a flag; "
       "ld.acquire.gpu of it here");
}

void RaceDetector::advise_channel(diag::Diagnostic& diagnostic, const View& view, u32 lane,
                                  Stamp other) const {
  switch (channels_[other.actor()]) {
    case Channel::Warp:
    case Channel::Inits:
      return help(diagnostic,
                  "before the copy is issued, its thread must know that the reads are over",
                  "bar.sync, or an mbarrier at which the readers arrive and this thread waits");
    case Channel::Transactions:
      return advise_mbarrier(diagnostic, view, lane, other);
    case Channel::BulkGroups:
      return help(diagnostic, "the thread that issued the copy must wait for its reads",
                  "cp.async.bulk.commit_group and cp.async.bulk.wait_group.read");
    case Channel::BulkWrites:
      return help(diagnostic,
                  "the thread that issued the copy must wait until it is complete, not only read",
                  "cp.async.bulk.commit_group and cp.async.bulk.wait_group");
    case Channel::Copies: {
      const bool is_own = owners_[other.actor()] == view.actor && other.lane() == lane;
      return help(
          diagnostic,
          is_own ? "before the access" : "by the thread that issued the copy, then a barrier",
          is_own ? "cp.async.wait_group or cp.async.wait_all"
                 : "cp.async.wait_group, then bar.sync");
    }
    case Channel::Matrix:
      return help(diagnostic, "before the access, by the warpgroup",
                  "wgmma.commit_group and wgmma.wait_group");
    case Channel::Tensor:
    case Channel::TensorIssued:
      return help(diagnostic, "before the access",
                  "tcgen05.commit to an mbarrier, and a wait for it");
    case Channel::TensorLoads:
      return help(diagnostic, "by the warp that loads", "tcgen05.wait::ld");
    case Channel::TensorStores:
      return help(diagnostic, "by the warp that stores", "tcgen05.wait::st");
  }
}

}  // namespace pyptx::emu
