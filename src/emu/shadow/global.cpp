// SPDX-License-Identifier: Apache-2.0
//
// Buffers of global memory that start without a value: a bit per byte says which have got one.
// Clusters on several threads of the host write there, so the bits are atomic; where a row of
// stores fills whole words of them, they are plain stores all the same.
#include <algorithm>
#include <bit>
#include <string>

#include "memory/memory.h"

namespace pyptx::emu {
namespace {

constexpr u64 kCell = GlobalMemory::kCell;
/// Bits from `from` on, below `to`; both within a word of the map.
u64 bits_between(u64 from, u64 to) { return (~0ULL << from) & (~0ULL >> (kCell - to)); }

}  // namespace

void GlobalMemory::define(std::size_t index, u64 address, u64 bytes) const {
  const u64 first = address - buffers_[index].address;
  const u64 end = first + bytes;
  for (u64 at = first; at < end; at = (at / kCell + 1) * kCell) {
    const u64 base = at / kCell * kCell;
    const u64 bits = bits_between(at - base, std::min(end - base, kCell));
    std::atomic<u64>& cell = defined_[index][at / kCell];
    if (bits == ~0ULL) {
      cell.store(bits, std::memory_order_relaxed);
    } else if ((cell.load(std::memory_order_relaxed) & bits) != bits) {
      cell.fetch_or(bits, std::memory_order_relaxed);
    }
  }
}

void GlobalMemory::define(u64 address, u64 bytes) const {
  const std::ptrdiff_t found = find(address, bytes, 0);
  if (found >= 0 && is_tracked(static_cast<std::size_t>(found))) {
    define(static_cast<std::size_t>(found), address, bytes);
  }
}

u32 GlobalMemory::undefined(u64 address, u32 bytes) const {
  const std::ptrdiff_t found = find(address, bytes, 0);
  if (found < 0 || !is_tracked(static_cast<std::size_t>(found))) return 0;
  const auto& cells = defined_[static_cast<std::size_t>(found)];
  const u64 first = address - buffers_[static_cast<std::size_t>(found)].address;
  u32 undefined = 0;
  for (u32 i = 0; i < bytes; ++i) {
    const u64 cell = cells[(first + i) / kCell].load(std::memory_order_relaxed);
    if (((cell >> ((first + i) % kCell)) & 1U) == 0) undefined |= 1U << i;
  }
  return undefined;
}

std::vector<Gap> GlobalMemory::gaps() const {
  std::vector<Gap> gaps;
  for (std::size_t i = 0; i < buffers_.size(); ++i) {
    if (!is_tracked(i) || buffers_[i].bytes == 0) continue;
    Gap gap;
    gap.buffer = buffers_[i].name;
    gap.element_bytes = std::max(1U, buffers_[i].element_bytes);
    gap.elements = buffers_[i].bytes / gap.element_bytes;
    u64 last = ~0ULL;  // an element counts once, however many of its bytes are missing
    for (u64 cell = 0; cell * kCell < buffers_[i].bytes; ++cell) {
      const u64 end = std::min(buffers_[i].bytes - cell * kCell, kCell);
      u64 missing = ~defined_[i][cell].load(std::memory_order_relaxed) & bits_between(0, end);
      for (; missing != 0; missing &= missing - 1) {
        const u64 byte = cell * kCell + static_cast<u64>(std::countr_zero(missing));
        const u64 element = byte / gap.element_bytes;
        if (element == last) continue;
        last = element;
        if (gap.count++ == 0) gap.first = element;
      }
    }
    if (gap.count != 0) gaps.push_back(std::move(gap));
  }
  std::ranges::sort(gaps, {}, &Gap::buffer);
  return gaps;
}

std::string GlobalMemory::place(u64 address) const {
  const std::ptrdiff_t found = find(address, 1, 0);
  if (found < 0) return hex(address);
  const auto index = static_cast<std::size_t>(found);
  const u64 offset = address - buffers_[index].address;
  const u64 element = offset / std::max(1U, buffers_[index].element_bytes);
  return "element " + std::to_string(element) + " of " + buffers_[index].name;
}

}  // namespace pyptx::emu
