// SPDX-License-Identifier: Apache-2.0
//
// The scheduler of a cluster: warps in a seeded order, a quantum each; when none can run, one
// asynchronous operation completes; when there is none, waits that may time out do; when nothing
// helps, it is a deadlock.
#include "machine/cluster.h"

#include <algorithm>
#include <string>

#include "observe/observer.h"
#include "race/detector.h"

namespace pyptx::emu {
namespace {

constexpr u32 kQuantum = 2048;
/// Rounds of timed-out waits without any event in between before it counts as a deadlock.
constexpr u32 kStuckRounds = 32;
/// What a cluster may print: more than anybody reads.
constexpr std::size_t kMostPrinted = 1U << 24;

}  // namespace

Cluster::Cluster() = default;
Cluster::~Cluster() = default;

void Cluster::print(std::string_view text) {
  const std::size_t room = kMostPrinted - output.size();
  output += text.substr(0, room);
  if (text.size() > room) lost_output += text.size() - room;
}

bool Cluster::is_over(Warp& warp, Split& split) {
  if (split.timed_out) return true;
  const Wait& wait = split.wait;
  switch (wait.kind) {
    case Wait::Kind::None:
      return true;
    case Wait::Kind::Converge:
      return (wait.mask & warp.live & ~split.mask) == 0;
    case Wait::Kind::Barrier:
      return warp.cta->barriers[wait.address].generation != wait.value;
    case Wait::Kind::ClusterBarrier:
      return generation != wait.value;
    case Wait::Kind::Mbarrier: {
      const Mbarrier* barrier = ctas[wait.rank]->mbarriers.find(wait.address);
      return barrier == nullptr || barrier->phase != wait.value;
    }
    case Wait::Kind::WgmmaGroups: {
      WarpgroupQueue& queue = warp.cta->wgmma[warp.id / 4];
      return !queue.is_open(wait.value) || queue.complete(*warp.cta, warp.id / 4, wait.value);
    }
    case Wait::Kind::TensorColumns:
      return warp.cta->tensor.fit(static_cast<u32>(wait.value)).has_value();
    case Wait::Kind::TensorPair: {
      const TensorMemory& pair = ctas[warp.cta->rank & ~1U]->tensor;
      if (wait.address == 1) return pair.freed_pairs != wait.value;
      const bool are_here = pair.allocates[0].warp != nullptr && pair.allocates[1].warp != nullptr;
      return pair.allocated_pairs != wait.value ||
             (are_here && pair.fit(pair.allocates[0].columns).has_value());
    }
    default:
      return true;
  }
}

void Cluster::settle_cluster_barrier() {
  if (arrived == 0) return;
  for (const auto& cta : ctas) {
    for (const Warp& warp : cta->warps) {
      if ((warp.live & ~warp.cluster_arrived) != 0) return;
    }
  }
  for (const auto& cta : ctas) {
    for (Warp& warp : cta->warps) warp.cluster_arrived = 0;
  }
  arrived = 0;
  ++generation;
  ++progress;
}

void Cluster::lanes_exited(Warp& warp, u32 mask) {
  if (races && ctas.size() > 1) races->exited(warp, mask, generation);
  warp.cluster_arrived &= ~mask;
  warp.cluster_owed &= ~mask;
  settle_cluster_barrier();
}

bool Cluster::complete_one() {
  const bool is_random = policy() == Completion::Random;
  if (!tensor.empty() && (bulk.empty() || (is_random && random.below(2) == 0))) {
    tensor.complete_oldest(*this);
    return true;
  }
  if (!bulk.empty()) {
    bulk.complete(*this, is_random ? random.below(static_cast<u32>(bulk.size())) : 0);
    return true;
  }
  for (const auto& cta : ctas) {
    for (std::size_t i = 0; i < cta->copies.size(); ++i) {
      CopyQueue& queue = cta->copies[i];
      if (queue.empty()) continue;
      std::string problem;
      if (!queue.complete_oldest(*this, problem)) {
        cta->warps[i].fail(*queue.issuer,
                           diag::Diagnostic(diag::Kind::EmuMbarrier, {"of a cp.async", problem}));
      }
      return true;
    }
  }
  return false;
}

bool Cluster::wake_timed_waits() {
  if (progress != stuck_progress_) {
    stuck_progress_ = progress;
    stuck_rounds_ = 0;
  }
  if (++stuck_rounds_ > kStuckRounds) return false;
  bool woke = false;
  for (Warp* warp : order) {
    for (u32 i = 0; i < warp->split_count; ++i) {
      Split& split = warp->splits[i];
      if (split.wait.kind == Wait::Kind::Mbarrier && split.wait.may_time_out) {
        split.timed_out = woke = true;
      }
    }
  }
  return woke;
}

bool Cluster::take_fault() {
  for (Warp* warp : order) {
    if (!error && warp->fault) error = std::move(warp->fault);
  }
  return error != nullptr;
}

bool Cluster::step(u64* counts, Pulse& pulse) {
  bool ran = false;
  for (std::size_t i = 0; i < order.size(); ++i) {
    Warp& warp = *order[i];
    if (warp.done()) continue;
    warp.counts = counts;
    u32 quantum = kQuantum;
    if (policy() == Completion::Random) {
      quantum = 16 + random.below(kQuantum);
      // What is wrong with it is told before anybody can see its results.
      if (random.below(4) == 0 && complete_one() && take_fault()) return true;
    }
    const u32 granted = pulse.grant(quantum);
    if (granted == 0) return true;
    u32 left = granted;
    if (warp.run(left)) {
      ran = true;
      clock += quantum;
    }
    if (warp.fault) {
      error = std::move(warp.fault);
      return true;
    }
    if (pulse.spend(granted - left)) return true;
  }
  return ran;
}

bool Cluster::is_polling() {
  if (progress != polled_progress_) {
    polled_progress_ = progress;
    polled_rounds_ = 0;
  }
  return (++polled_rounds_ & 63U) == 0;
}

bool Cluster::unstick() { return complete_one() || wake_timed_waits(); }

Cluster::State Cluster::finish(Pulse& pulse) {
  while (!error && complete_one()) {
    take_fault();
    if (pulse.work(Pulse::kOperation)) return State::Running;
  }
  if (!error) error = leftover();
  return error ? State::Failed : State::Done;
}

Cluster::State Cluster::run(u64 budget, u64* counts, Pulse& pulse) {
  const u64 end = clock + budget;
  while (clock < end) {
    const bool ran = step(counts, pulse);
    if (take_fault()) return State::Failed;
    bool is_finished = true;
    for (const auto& cta : ctas) is_finished = is_finished && cta->done();
    if (is_finished) return finish(pulse);
    if (pulse.is_over()) break;
    if (!ran) {
      if (!unstick()) error = std::make_unique<diag::Diagnostic>(deadlock());
      pulse.work(Pulse::kOperation);
    } else if (is_polling()) {
      complete_one();
    }
    if (take_fault()) return State::Failed;
    clock += 1;
  }
  return State::Running;
}

}  // namespace pyptx::emu
