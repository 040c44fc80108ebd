// SPDX-License-Identifier: Apache-2.0
//
// The life and the phases of mbarriers. See mbarrier.h.
#include "memory/mbarrier.h"

#include <algorithm>

namespace pyptx::emu {

Mbarrier* MbarrierTable::find(u32 address) {
  if (last_ < barriers_.size() && barriers_[last_].address == address) return &barriers_[last_];
  for (std::size_t i = 0; i < barriers_.size(); ++i) {
    if (barriers_[i].address == address && address != 0) {
      last_ = i;
      return &barriers_[i];
    }
  }
  return nullptr;
}

const Mbarrier* MbarrierTable::overlap(u32 address, u64 bytes) const {
  if (address >= high_ || address + bytes <= low_) return nullptr;
  for (const Mbarrier& barrier : barriers_) {
    if (barrier.address != 0 && barrier.address < address + bytes &&
        address < barrier.address + 8U) {
      return &barrier;
    }
  }
  return nullptr;
}

const Mbarrier* MbarrierTable::unbalanced() const {
  for (const Mbarrier& barrier : barriers_) {
    if (barrier.address != 0 && barrier.tx != 0) return &barrier;
  }
  return nullptr;
}

std::optional<std::string> MbarrierTable::init(u32 address, u32 count) {
  if (count == 0 || count > kMbarrierCountLimit) {
    return "the count must be within 1 and 1048575, got " + std::to_string(count);
  }
  if (find(address) != nullptr) {
    return "it is initialised already; mbarrier.inval must come first";
  }
  Mbarrier barrier;
  barrier.address = address;
  barrier.expected = barrier.pending = count;
  const auto dead =
      std::ranges::find_if(barriers_, [](const Mbarrier& b) { return b.address == 0; });
  if (dead != barriers_.end()) {
    *dead = barrier;
  } else {
    barriers_.push_back(barrier);
  }
  low_ = std::min(low_, address);
  high_ = std::max(high_, address + 8);
  ++live_;
  return std::nullopt;
}

std::optional<std::string> MbarrierTable::invalidate(u32 address) {
  Mbarrier* barrier = find(address);
  if (barrier == nullptr) return "it is not initialised";
  *barrier = {};
  --live_;
  return std::nullopt;
}

void MbarrierTable::finish_phase(Mbarrier& barrier) {
  if (barrier.pending != 0 || barrier.tx != 0) return;
  ++barrier.phase;
  barrier.pending = barrier.expected;
  barrier.awaited = barrier.came = 0;
}

std::optional<std::string> MbarrierTable::arrive(Mbarrier& barrier, u32 count, bool is_drop) {
  if (count == 0 || count > barrier.pending) {
    return "an arrival of " + std::to_string(count) + " where " + std::to_string(barrier.pending) +
           " of " + std::to_string(barrier.expected) + " arrivals are pending";
  }
  barrier.pending -= count;
  barrier.arrivals_seen += count;
  if (is_drop) barrier.expected -= count;
  finish_phase(barrier);
  return std::nullopt;
}

std::optional<std::string> MbarrierTable::transact(Mbarrier& barrier, i64 bytes) {
  barrier.tx += bytes;
  if (barrier.tx > kMbarrierCountLimit || barrier.tx < -kMbarrierCountLimit) {
    return "the transaction count " + std::to_string(barrier.tx) + " passes its limit of 1048575";
  }
  finish_phase(barrier);
  return std::nullopt;
}

std::optional<std::string> MbarrierTable::expect(Mbarrier& barrier, i64 bytes) {
  barrier.awaited += bytes;
  return transact(barrier, bytes);
}

std::optional<std::string> MbarrierTable::complete(Mbarrier& barrier, i64 bytes) {
  barrier.came += bytes;
  return transact(barrier, -bytes);
}

}  // namespace pyptx::emu
