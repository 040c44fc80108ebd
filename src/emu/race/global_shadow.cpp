// SPDX-License-Identifier: Apache-2.0
//
// Pages of stamps. See global_shadow.h.
#include "race/global_shadow.h"

#include <algorithm>

namespace pyptx::emu {

void GlobalPage::enter(u64 cluster) {
  if (!is_used) {
    is_used = true;
    first = cluster;
  }
  if (first == cluster || clusters) return;
  clusters = std::make_unique<Clusters>();
  clusters->wrote.fill(static_cast<u32>(first));
  clusters->read.fill(static_cast<u32>(first));
}

GlobalPage::Run* GlobalPage::run(u32 cell, u32 count) {
  for (u32 i = 0; i < run_count; ++i) {
    Run& one = runs[i];
    if (cell >= u32{one.first} + one.count || cell + count <= one.first) continue;
    return one.first == cell && one.count == count ? &one : nullptr;
  }
  if (run_count == runs.size()) return nullptr;
  Run& added = runs[run_count++];
  added.first = static_cast<u8>(cell);
  added.count = static_cast<u8>(count);
  return &added;
}

void GlobalPage::expand() {
  words = std::make_unique<Words>();
  const auto spread = [](Stamp of, u32 per_lane, u32 count, Stamp* to) {
    if (of.empty()) return;
    for (u32 i = 0; i < count; ++i) {
      to[i] = Stamp::make(of.actor(), of.epoch(), of.lane() + i / per_lane, of.bytes(), of.pc());
    }
  };
  for (u32 i = 0; i < run_count; ++i) {
    const Run& one = runs[i];
    spread(one.write, one.write_words, one.count, &words->writes[one.first]);
    spread(one.read, one.read_words, one.count, &words->reads[one.first]);
    std::fill_n(&words->touched[one.first], one.count, one.touched);
  }
}

void GlobalShadow::find(u64 address, Near& near) {
  const u64 number = address >> GlobalPage::kShift;
  std::unique_ptr<GlobalPage>& page = pages_[number];
  if (!page) page = std::make_unique<GlobalPage>();
  near = {number, page.get()};
}

}  // namespace pyptx::emu
