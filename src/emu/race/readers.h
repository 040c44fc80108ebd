// SPDX-License-Identifier: Apache-2.0
//
// Who has read a word, where one stamp cannot say it: numbered sets of readers. A set never changes
// once it has its number, so neighbouring words share one.
#pragma once

#include <array>
#include <vector>

#include "race/clock.h"

namespace pyptx::emu {

struct Reader {
  Stamp stamp;
  u64 cluster = 0;  // in the grid
};

class ReaderSets {
 public:
  ReaderSets() : sets_(1) {}  // number 0 is no set

  static bool is_set(Stamp stamp) { return stamp.actor() == Stamp::kReaderSet; }
  const std::vector<Reader>& at(Stamp set) const { return sets_[set.epoch()]; }
  std::size_t size() const { return sets_.size(); }
  bool is_full() const { return sets_.size() == Stamp::kPending; }

  Stamp add(std::vector<Reader> set, u32 pc) {
    sets_.push_back(std::move(set));
    return Stamp::make(Stamp::kReaderSet, static_cast<u32>(sets_.size() - 1), 0, 15, pc);
  }

  /// What `old` became when `mine` joined it last: most words of a tile have the same history.
  const Stamp* grown(u64 old, u64 mine, u64 cluster) const {
    const Grown& known = grown_[slot(old, mine)];
    const bool is_known = known.old == old && known.mine == mine && known.cluster == cluster;
    return is_known && !known.now.empty() ? &known.now : nullptr;
  }
  void remember(u64 old, u64 mine, u64 cluster, Stamp now) {
    grown_[slot(old, mine)] = {old, mine, cluster, now};
  }

 private:
  struct Grown {
    u64 old = 0;
    u64 mine = 0;
    u64 cluster = 0;
    Stamp now;
  };
  static std::size_t slot(u64 old, u64 mine) {
    return static_cast<std::size_t>((old * 0x9E3779B97F4A7C15ULL ^ mine * 0xD1342543DE82EF95ULL) >>
                                    58);
  }

  std::vector<std::vector<Reader>> sets_;
  std::array<Grown, 64> grown_{};
};

}  // namespace pyptx::emu
