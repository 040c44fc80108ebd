// SPDX-License-Identifier: Apache-2.0
//
// Pages of stamps. See global_shadow.h.
#include "race/global_shadow.h"

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

void GlobalShadow::find(u64 address, Near& near) {
  const u64 number = address >> GlobalPage::kShift;
  std::unique_ptr<GlobalPage>& page = pages_[number];
  if (!page) page = std::make_unique<GlobalPage>();
  near = {number, page.get()};
}

}  // namespace pyptx::emu
