// SPDX-License-Identifier: Apache-2.0
//
// Runs and single bytes. See defined_bytes.h.
#include "memory/defined_bytes.h"

#include <algorithm>
#include <bit>

namespace pyptx::emu {
namespace {

/// Bits from `from` on, below `to`; both within a word of the map.
u64 bits_between(u32 from, u32 to) { return (~0ULL << from) & (~0ULL >> (64 - to)); }

}  // namespace

u32 DefinedBytes::missing(u32 first, u32 end) const {
  for (u32 at = first; at < end; at = (at / kCell + 1) * kCell) {
    const u32 base = at / kCell * kCell;
    const u64 wanted = bits_between(at - base, std::min(end - base, kCell));
    const u64 absent = wanted & ~bits_[at / kCell];
    if (absent != 0) return base + static_cast<u32>(std::countr_zero(absent));
  }
  return end;
}

u32 DefinedBytes::undefined(u32 first, u32 count) const {
  const u32 shift = first % kCell;
  u64 bits = bits_[first / kCell] >> shift;
  if (shift > kCell - 32) bits |= bits_[first / kCell + 1] << (kCell - shift);
  return static_cast<u32>(~bits & bits_between(0, count));
}

void DefinedBytes::add(u32 first, u32 end) {
  if (covers(first, end)) return;
  for (u32 at = first; at < end; at = (at / kCell + 1) * kCell) {
    const u32 base = at / kCell * kCell;
    bits_[at / kCell] |= bits_between(at - base, std::min(end - base, kCell));
  }
}

void DefinedBytes::remove(u32 first, u32 end) {
  for (u32 at = first; at < end; at = (at / kCell + 1) * kCell) {
    const u32 base = at / kCell * kCell;
    bits_[at / kCell] &= ~bits_between(at - base, std::min(end - base, kCell));
  }
  if (first < run_end_ && end > run_first_) run_first_ = run_end_ = open_bytes_ = 0;
}

void DefinedBytes::find_run(u32 at) {
  std::size_t low = at / kCell;
  std::size_t high = low;
  while (high < bits_.size() && bits_[high] == ~0ULL) ++high;
  if (high == low) return;
  while (low > 0 && bits_[low - 1] == ~0ULL) --low;
  run_first_ = static_cast<u32>(low) * kCell;
  run_end_ = static_cast<u32>(high) * kCell;
  open_bytes_ = is_judged_ ? 0 : run_end_ - run_first_;
}

}  // namespace pyptx::emu
