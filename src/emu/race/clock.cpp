// SPDX-License-Identifier: Apache-2.0
//
// What is known of other clusters. See clock.h.
#include "race/clock.h"

namespace pyptx::emu {

bool Clock::includes(const Clock& other) const {
  for (std::size_t i = 0; i < other.seen_.size(); ++i) {
    const Seen& theirs = other.seen_[i];
    if (theirs.all == 0 && theirs.mask == 0) continue;
    if (i >= seen_.size()) return false;
    const Seen& ours = seen_[i];
    const bool has_lanes =
        theirs.some <= ours.all || (theirs.some <= ours.some && (theirs.mask & ~ours.mask) == 0);
    if (theirs.all > ours.all || (theirs.mask != 0 && !has_lanes)) return false;
  }
  return true;
}

namespace {

bool includes(const Clocks& ours, const Clocks& theirs) {
  return ours.base.includes(theirs.base) && ours.proxy.includes(theirs.proxy) &&
         ours.maps.includes(theirs.maps);
}

/// What both know; one of the two where it knows all that the other does.
Foreign::SharedClocks united(const Foreign::SharedClocks& ours,
                             const Foreign::SharedClocks& theirs) {
  if (!theirs || ours == theirs) return ours;
  if (!ours || includes(*theirs, *ours)) return theirs;
  if (includes(*ours, *theirs)) return ours;
  auto both = std::make_shared<Clocks>(*ours);
  both->base.join(theirs->base);
  both->proxy.join(theirs->proxy);
  both->maps.join(theirs->maps);
  return both;
}

}  // namespace

const Clocks* Foreign::of(u64 cluster) const {
  const u64 chunk = cluster / kChunk;
  if (chunk >= chunks_.size() || !chunks_[chunk]) return nullptr;
  return (*chunks_[chunk])[cluster % kChunk].get();
}

void Foreign::merge(u64 cluster, const SharedClocks& entry) {
  const u64 index = cluster / kChunk;
  if (index >= chunks_.size()) chunks_.resize(index + 1);
  const SharedClocks old = chunks_[index] ? (*chunks_[index])[cluster % kChunk] : nullptr;
  SharedClocks both = united(old, entry);
  if (both == old) return;
  auto chunk =
      chunks_[index] ? std::make_shared<Chunk>(*chunks_[index]) : std::make_shared<Chunk>();
  (*chunk)[cluster % kChunk] = std::move(both);
  chunks_[index] = std::move(chunk);
}

void Foreign::cover() {
  for (std::shared_ptr<const Chunk>& old : chunks_) {
    if (!old) continue;
    auto chunk = std::make_shared<Chunk>(*old);
    for (SharedClocks& entry : *chunk) {
      if (!entry || entry->proxy.includes(entry->base)) continue;
      auto covered = std::make_shared<Clocks>(*entry);
      covered->proxy.join(covered->base);
      entry = std::move(covered);
    }
    old = std::move(chunk);
  }
}

void Foreign::join(const Foreign& other) {
  if (chunks_.size() < other.chunks_.size()) chunks_.resize(other.chunks_.size());
  for (std::size_t i = 0; i < other.chunks_.size(); ++i) {
    const std::shared_ptr<const Chunk>& theirs = other.chunks_[i];
    if (!theirs || theirs == chunks_[i]) continue;
    if (!chunks_[i]) {
      chunks_[i] = theirs;
      continue;
    }
    Chunk both;
    bool is_ours = true;
    bool is_theirs = true;
    for (u64 k = 0; k < kChunk; ++k) {
      both[k] = united((*chunks_[i])[k], (*theirs)[k]);
      is_ours = is_ours && both[k] == (*chunks_[i])[k];
      is_theirs = is_theirs && both[k] == (*theirs)[k];
    }
    if (is_ours) continue;
    chunks_[i] = is_theirs ? theirs : std::make_shared<const Chunk>(both);
  }
}

}  // namespace pyptx::emu
