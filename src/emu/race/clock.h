// SPDX-License-Identifier: Apache-2.0
//
// Happens-before in numbers: stamps of accesses and vector clocks over actors. An actor is a warp,
// or a channel through which asynchronous operations are observed (the transactions of an mbarrier,
// a thread's bulk groups, a warp's cp.async, a warpgroup's wgmma). Nothing here knows addresses.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <vector>

#include "decode/program.h"

namespace pyptx::emu {

/// One access, packed: who, when, which lane, which bytes of the word, and where in the program.
struct Stamp {
  static constexpr u32 kEpochBits = 26;
  static constexpr u32 kActorBits = 12;
  static constexpr u32 kPending = (1U << kEpochBits) - 1;  // under way: seen by nobody
  static constexpr u32 kReaderSet = (1U << kActorBits) - 1;
  static constexpr u32 kNobody = kReaderSet - 1;  // in a gap between variables
  static constexpr u32 kManyLanes = 32;
  static constexpr u32 kParts = 33;   // parts of the word are of one lane each, nobody knows which
  static constexpr u32 kStrong = 34;  // and the scope: a strong access
  static constexpr u32 kAtomic = 37;  // and the scope: an atomic
  static constexpr u32 kHalves = 40;  // and i: the halves are of lanes 2 i and 2 i + 1
  static constexpr u32 kBytes = 56;   // and i: the bytes are of lanes 4 i to 4 i + 3

  u64 bits = 0;

  /// Epochs past the last are that one: it can hide a race, never invent one.
  static constexpr Stamp make(u32 actor, u32 epoch, u32 lane, u32 bytes, u32 pc) {
    return {u64{epoch <= kPending ? epoch : kPending - 1} | u64{actor} << kEpochBits |
            u64{lane} << 38 | u64{bytes} << 44 | u64{pc < 0xFFFFU ? pc : 0xFFFFU} << 48};
  }
  constexpr bool empty() const { return bits == 0; }
  constexpr u32 epoch() const { return static_cast<u32>(bits) & kPending; }
  constexpr u32 actor() const { return static_cast<u32>(bits >> kEpochBits) & kReaderSet; }
  constexpr u32 lane() const { return static_cast<u32>(bits >> 38) & 63U; }
  constexpr u32 bytes() const { return static_cast<u32>(bits >> 44) & 15U; }
  constexpr u32 pc() const { return static_cast<u32>(bits >> 48); }
  constexpr bool is_strong() const { return lane() >= kStrong && lane() < kHalves; }
  constexpr bool is_atomic() const { return lane() >= kAtomic && lane() < kHalves; }
  /// Of a strong access.
  constexpr Scope scope() const {
    return static_cast<Scope>(lane() - (is_atomic() ? kAtomic : kStrong));
  }
  /// What lanes that share a word are, where this stamp of the same actor and epoch has found the
  /// access of `lane` to `bytes` of it.
  constexpr u32 joined(u32 lane, u32 bytes) const;
  /// The stamp of some bytes of the word.
  constexpr Stamp of(u32 part) const;

  /// Actor and epoch.
  static constexpr u64 kKey = (u64{1} << 38) - 1;
  constexpr u64 key() const { return bits & kKey; }
};

constexpr u32 Stamp::joined(u32 by, u32 part) const {
  if (lane() == by) return by;
  if (is_strong() || by >= kStrong) return kParts;
  if ((bytes() & part) != 0 && lane() < kLanes) return kManyLanes;  // both touched the same byte
  const auto row_of = [](u32 one, u32 of) {                         // as a row of neighbours has it
    if (one < kLanes && of == 3U << (one % 2 * 2)) return kHalves + one / 2;
    if (one < kLanes && of == 1U << (one % 4)) return kBytes + one / 4;
    return kParts;
  };
  const u32 mine = row_of(by, part);
  if (lane() == mine) return mine;
  const bool is_one = lane() < kLanes;
  if (is_one && row_of(lane(), bytes()) == mine) return mine;
  return is_one || lane() == kParts || lane() >= kHalves ? kParts : kManyLanes;
}

constexpr Stamp Stamp::of(u32 part) const {
  if (lane() < kHalves) return *this;
  const bool is_bytes = lane() >= kBytes;
  const u32 width = is_bytes ? 1 : 2;
  u32 who = kManyLanes;
  for (u32 i = 0; i < 4 / width; ++i) {
    const u32 own = ((1U << width) - 1) << (i * width);
    if ((part & ~own) == 0) who = (is_bytes ? (lane() - kBytes) * 4 : (lane() - kHalves) * 2) + i;
  }
  return make(actor(), epoch(), who, bytes(), pc());
}

/// Behind the last of the stamps from `first` on that are alike.
inline u32 end_of_run(const Stamp* stamps, u32 first, u32 end) {
  constexpr u32 kStep = 16;
  const u64 bits = stamps[first].bits;
  u32 at = first + 1;
  for (; at + kStep <= end; at += kStep) {
    u64 differs = 0;
    for (u32 i = 0; i < kStep; ++i) differs |= stamps[at + i].bits ^ bits;
    if (differs != 0) break;
  }
  while (at < end && stamps[at].bits == bits) ++at;
  return at;
}

/// How much of one actor's past is known: every lane's up to `all`, and up to `some` that of the
/// lanes in `mask` (one lane arrived for itself, and nobody spoke for its warp).
struct Seen {
  u32 all = 0;
  u32 some = 0;
  u32 mask = 0;

  void merge(const Seen& other) {
    all = std::max(all, other.all);
    mask |= other.mask;
    some = std::max(some, other.some);
  }
};

class Clock {
 public:
  bool covers(Stamp stamp) const {
    const u32 actor = stamp.actor();
    if (actor >= seen_.size()) return false;
    const Seen& seen = seen_[actor];
    if (stamp.epoch() <= seen.all) return true;
    return stamp.epoch() <= seen.some && stamp.lane() < kLanes &&
           ((seen.mask >> stamp.lane()) & 1U) != 0;
  }
  /// Whether all lanes of the actor are known up to the stamp's epoch.
  bool covers_all(Stamp stamp) const {
    return stamp.actor() < seen_.size() && stamp.epoch() <= seen_[stamp.actor()].all;
  }
  void join(const Clock& other) {
    if (seen_.size() < other.seen_.size()) seen_.resize(other.seen_.size());
    for (std::size_t i = 0; i < other.seen_.size(); ++i) seen_[i].merge(other.seen_[i]);
  }
  /// Whether anything that the actor did is known.
  bool knows(u32 actor) const {
    return actor < seen_.size() && (seen_[actor].all != 0 || seen_[actor].mask != 0);
  }
  Seen& at(u32 actor) {
    if (actor >= seen_.size()) seen_.resize(actor + 1);
    return seen_[actor];
  }
  void clear() { seen_.clear(); }
  bool empty() const { return seen_.empty(); }
  /// Whether all that `other` knows is known here too.
  bool includes(const Clock& other) const;

 private:
  std::vector<Seen> seen_;
};

/// The epochs in which groups were closed, by number. Only the last many are remembered; an older
/// group counts as the oldest of them, which can hide a race, never invent one.
class GroupEpochs {
 public:
  u64 size() const { return first_ + epochs_.size(); }
  void push(u32 epoch) {
    if (epochs_.size() == 2 * kMost) {
      epochs_.erase(epochs_.begin(), epochs_.begin() + kMost);
      first_ += kMost;
    }
    epochs_.push_back(epoch);
  }
  /// Of group `number`, which is below size().
  u32 of(u64 number) const { return epochs_[number < first_ ? 0 : number - first_]; }

 private:
  static constexpr std::ptrdiff_t kMost = 1 << 12;
  std::vector<u32> epochs_;
  u64 first_ = 0;
};

/// What is known of another cluster: base causality, the part that a proxy fence for global memory
/// covers, and what was released to the tensormap proxy with a scope that reaches here.
struct Clocks {
  Clock base;
  Clock proxy;
  Clock maps;
};

/// What is known of other clusters, by their number in the grid. Copies share what they agree in:
/// in a chain through the grid everybody knows nearly the same.
class Foreign {
 public:
  using SharedClocks = std::shared_ptr<const Clocks>;

  bool empty() const { return chunks_.empty(); }
  const Clocks* of(u64 cluster) const;
  void merge(u64 cluster, const SharedClocks& entry);
  void join(const Foreign& other);
  /// Behind a proxy fence: it covers all that is known.
  void cover();
  void clear() { chunks_.clear(); }

 private:
  static constexpr u64 kChunk = 32;
  using Chunk = std::array<SharedClocks, kChunk>;

  std::vector<std::shared_ptr<const Chunk>> chunks_;
};

/// Base causality, and the part of it that a proxy fence covers (PTX ISA, "Memory Consistency
/// Model: Causality order"): what was done by the generic proxy is ordered before an asynchronous
/// operation only by the second.
struct Knowledge {
  Clock base;
  Clock proxy;         // of shared memory
  Clock global_proxy;  // of global memory
  Clock halfway;       // released to the asynchronous proxy of shared memory: to be acquired
  /// What tcgen05 operations behind a fence::after_thread_sync are ordered after: all that stood
  /// before a fence::before_thread_sync of somebody, or was committed. Of warps: how far they had
  /// come, which relaxed arrivals tell too.
  Clock tensor;
  /// What was released to the tensormap proxy, by the scope of the fence.
  std::array<Clock, 3> maps;
  /// What stood before a fence of scope .gpu, by whomever: a relaxed write behind it tells it.
  /// Every thread fences, a barrier, one thread sets the flag: by the order of fence.sc (membar.gl)
  /// that is a release of all of them.
  Clock fences;
  Foreign foreign;
  bool is_behind_wait = false;  // griddepcontrol.wait: the grids before this one are known

  void join(const Knowledge& other) {
    base.join(other.base);
    proxy.join(other.proxy);
    global_proxy.join(other.global_proxy);
    halfway.join(other.halfway);
    tensor.join(other.tensor);
    fences.join(other.fences);
    for (std::size_t i = 0; i < maps.size(); ++i) maps[i].join(other.maps[i]);
    if (!other.foreign.empty()) foreign.join(other.foreign);
    is_behind_wait = is_behind_wait || other.is_behind_wait;
  }
  void merge(u32 actor, const Seen& seen) {
    base.at(actor).merge(seen);
    proxy.at(actor).merge(seen);
    global_proxy.at(actor).merge(seen);
  }
  void clear() {
    base.clear();
    proxy.clear();
    global_proxy.clear();
    halfway.clear();
    tensor.clear();
    fences.clear();
    for (Clock& released : maps) released.clear();
    foreign.clear();
    is_behind_wait = false;
  }
  bool empty() const { return base.empty() && foreign.empty() && !is_behind_wait; }
};

}  // namespace pyptx::emu
