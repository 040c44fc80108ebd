// SPDX-License-Identifier: Apache-2.0
//
// What clusters that cannot talk to each other did to global memory. Each keeps a shadow of its own
// while it runs; when it ends, what it read and wrote is entered here, and whatever another one has
// touched too, with a write on either side, is a race. The verdict is that of the clusters in the
// order of their numbers, on whatever threads and in whatever order they end.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "memory/memory.h"
#include "race/global_shadow.h"

namespace pyptx::emu {

class Ledger {
 public:
  Ledger(const Program& program, const Launch& launch, const GlobalMemory& memory)
      : program_(program), launch_(launch), memory_(memory) {}

  /// A cluster has ended, or failed. Thread-safe. Gives the number of the later of the two clusters
  /// of the earliest race so far, or ~0. Takes the shadow's pages.
  u64 add(u64 cluster, GlobalShadow& shadow);
  /// When nobody runs any more, as the others below.
  u64 later_of_race() const { return race_ ? race_->later.cluster : ~0ULL; }
  std::optional<diag::Diagnostic> race() const { return tell(race_, diag::Kind::EmuRace); }
  std::optional<diag::Diagnostic> same_value() const {
    return tell(same_value_, diag::Kind::EmuSameValue);
  }

 private:
  struct Touch {
    u64 cluster = 0;
    u32 pc = ~0U;
    u32 warp = 0;
    bool is_write = false;
  };
  /// Two clusters at one address; the earliest pair is the one that is told.
  struct Pair {
    Touch later;
    Touch earlier;
    u64 address = ~0ULL;

    bool is_before(const Pair& other) const;
  };
  struct Page {
    struct Side {
      std::array<u32, GlobalPage::kCells> cluster{};  // the first, plus one; 0: none
      std::array<u16, GlobalPage::kCells> pc{};
      std::array<u16, GlobalPage::kCells> warp{};
      std::array<u8, GlobalPage::kCells> bytes{};
    };
    Side wrote;
    Side read;
    std::array<u32, GlobalPage::kCells> values{};
  };

  void enter(u64 number, u64 cluster, GlobalPage& from, Page& page);
  void enter(u64 address, u64 cluster, GlobalPage& from, u32 cell, Page& page);
  void found(const Touch& one, const Touch& other, u64 address, bool is_same);
  std::optional<diag::Diagnostic> tell(const std::optional<Pair>& pair, diag::Kind kind) const;

  const Program& program_;
  const Launch& launch_;
  const GlobalMemory& memory_;
  std::mutex mutex_;
  GlobalShadow::Pages soles_;  // that one cluster alone has touched; null: in pages_
  std::unordered_map<u64, std::unique_ptr<Page>> pages_;
  std::optional<Pair> race_;
  std::optional<Pair> same_value_;
};

}  // namespace pyptx::emu
