// SPDX-License-Identifier: Apache-2.0
//
// The stamps of global memory, in pages that are made when somebody comes by, and what strong
// accesses hand on through an address. Clusters that talk to each other, and run in turns, share
// one; others have one each, which the ledger compares when they end.
#pragma once

#include <array>
#include <memory>
#include <unordered_map>
#include <vector>

#include "race/readers.h"

namespace pyptx::emu {

struct GlobalPage {
  static constexpr u32 kShift = 9;
  static constexpr u32 kBytes = 1U << kShift;
  static constexpr u32 kCells = kBytes / 4;
  static constexpr u8 kWritten = 0x0F;  // bytes of a word that were ever written; read: the rest

  /// Neighbouring words that the lanes of one warp have written or read together: word i bears the
  /// lane of the first plus i / words of a lane.
  struct Run {
    Stamp write;
    Stamp read;
    u8 first = 0;
    u8 count = 0;
    u8 write_words = 1;  // of each lane
    u8 read_words = 1;
    u8 touched = 0;
  };
  struct Words {
    std::array<Stamp, kCells> writes{};
    std::array<Stamp, kCells> reads{};
    std::array<u8, kCells> touched{};
  };

  std::array<Run, 8> runs{};
  u32 run_count = 0;
  std::unique_ptr<Words> words;      // null: the runs say it all
  std::array<u32, kCells> values{};  // of whole words that a thread stored
  u64 first = 0;                     // the cluster that was here first
  bool is_used = false;
  /// Whose the stamps are, where more than one cluster has been here.
  struct Clusters {
    std::array<u32, kCells> wrote{};
    std::array<u32, kCells> read{};
  };
  std::unique_ptr<Clusters> clusters;

  void enter(u64 cluster);
  /// The run of exactly these words, a new one where nobody has been; null: there is none.
  Run* run(u32 cell, u32 count);
  /// Word by word, from now on.
  Words& in_words() {
    if (!words) expand();
    return *words;
  }
  u64 writer(u32 cell) const { return clusters ? clusters->wrote[cell] : first; }
  u64 reader(u32 cell) const { return clusters ? clusters->read[cell] : first; }

 private:
  void expand();
};

/// What strong writes to one address hand to whoever reads them (PTX ISA, "Release and Acquire
/// Patterns").
struct SyncVariable {
  struct Part {
    u64 cluster = 0;
    u32 rank = 0;   // of the CTA in its cluster
    u32 actor = 0;  // the warp that wrote last
    u32 pc = 0;
    Scope scope = Scope::Cta;
    Knowledge known;
    Foreign::SharedClocks
        abroad;  // `known` as other clusters see it; made when the first of them asks
  };
  std::vector<Part> parts;
  u64 version = 0;
};

/// A tensor map that tensormap.cp_fenceproxy wrote: the copy itself is released.
struct MapCopy {
  Stamp write;
  u64 cluster = 0;
  Scope scope = Scope::Cta;
};

class GlobalShadow {
 public:
  GlobalPage& page(u64 address) {
    Near& near = near_[(address >> GlobalPage::kShift) % near_.size()];
    if (near.number != address >> GlobalPage::kShift || near.page == nullptr) find(address, near);
    return *near.page;
  }
  SyncVariable& variable(u64 address) { return variables_[address]; }
  SyncVariable* find_variable(u64 address) {
    const auto found = variables_.find(address);
    return found == variables_.end() ? nullptr : &found->second;
  }
  u64 next_version() { return ++versions_; }
  /// By the number of their first byte.
  using Pages = std::unordered_map<u64, std::unique_ptr<GlobalPage>>;
  const Pages& pages() const { return pages_; }
  /// Nobody comes by any more.
  Pages take_pages() { return std::move(pages_); }

  ReaderSets sets;
  std::unordered_map<u64, MapCopy> map_copies;  // by address

 private:
  struct Near {
    u64 number = 0;
    GlobalPage* page = nullptr;
  };
  void find(u64 address, Near& near);

  Pages pages_;
  std::array<Near, 64> near_{};
  std::unordered_map<u64, SyncVariable> variables_;
  u64 versions_ = 0;
};

}  // namespace pyptx::emu
