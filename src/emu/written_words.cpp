// SPDX-License-Identifier: Apache-2.0
//
// Runs and single words. See written_words.h.
#include "written_words.h"

#include <algorithm>

namespace pyptx::emu {
namespace {

constexpr u32 kWord = 32;  // bits of a word of the map

/// Bits from `from` on, below `to`; both within a word of the map.
u32 bits_between(u32 from, u32 to) { return (~0U << from) & (~0U >> (kWord - to)); }

}  // namespace

bool WrittenWords::holds(u32 first, u32 end) const {
  if (covers(first, end) || first >= end || !is_kept()) return true;
  const u32 last = (end - 1) / 4;
  for (u32 cell = first / 4; cell <= last; cell = (cell / kWord + 1) * kWord) {
    const u32 wanted = bits_between(cell % kWord, std::min(last - cell / kWord * kWord, 31U) + 1);
    if ((bits_[cell / kWord] & wanted) != wanted) return false;
  }
  return true;
}

void WrittenWords::add(u32 first, u32 end) {
  if (covers(first, end) || first >= end || !is_kept()) return;
  const u32 last = (end - 1) / 4;
  for (u32 cell = first / 4; cell <= last; cell = (cell / kWord + 1) * kWord) {
    bits_[cell / kWord] |=
        bits_between(cell % kWord, std::min(last - cell / kWord * kWord, 31U) + 1);
  }
}

void WrittenWords::find_run(u32 at) {
  std::size_t low = at / 4 / kWord;
  std::size_t high = low;
  while (high < bits_.size() && bits_[high] == ~0U) ++high;
  if (high == low) return;
  while (low > 0 && bits_[low - 1] == ~0U) --low;
  run_first_ = static_cast<u32>(low) * kWord * 4;
  run_end_ = static_cast<u32>(high) * kWord * 4;
}

}  // namespace pyptx::emu
