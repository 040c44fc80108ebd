// SPDX-License-Identifier: Apache-2.0
//
// Allocation of tensor memory. See tensor_memory.h.
#include "memory/tensor_memory.h"

#include <algorithm>

namespace pyptx::emu {

std::string tensor_text(u32 lane, u32 column) {
  return "lane " + std::to_string(lane) + ", column " + std::to_string(column);
}

bool TensorMemory::is_allocated(u32 first, u32 columns) const {
  if (u64{first} + columns > kTensorColumns) return false;
  for (u32 unit = first / kTensorUnit; unit * kTensorUnit < first + columns; ++unit) {
    if (!taken_.test(unit)) return false;
  }
  return true;
}

std::optional<u32> TensorMemory::fit(u32 columns) const {
  for (u32 first = 0; first + columns <= kTensorColumns; first += columns) {
    bool is_free = true;
    for (u32 at = first; at < first + columns; at += kTensorUnit) {
      is_free = is_free && !taken_.test(at / kTensorUnit);
    }
    if (is_free) return first;
  }
  return std::nullopt;
}

void TensorMemory::allocate(u32 first, u32 columns, const Inst& inst) {
  // What was there before is undefined: quiet NaNs show in results that use it.
  if (words_.empty()) words_.assign(std::size_t{kTensorLanes} * kTensorColumns, ~0U);
  written_.resize(words_.size());
  for (u32 at = first; at < first + columns; at += kTensorUnit) taken_.set(at / kTensorUnit);
  allocations_.push_back({first, columns, &inst});
  last_columns = columns;
}

bool TensorMemory::free(u32 first, u32 columns) {
  const auto found = std::ranges::find_if(allocations_, [&](const Allocation& one) {
    return one.first == first && one.columns == columns;
  });
  if (found == allocations_.end()) return false;
  allocations_.erase(found);
  for (u32 at = first; at < first + columns; ++at) taken_.reset(at / kTensorUnit);
  for (u32 lane = 0; lane < kTensorLanes; ++lane) {
    const std::size_t from = std::size_t{lane} * kTensorColumns + first;
    std::fill_n(words_.begin() + static_cast<std::ptrdiff_t>(from), columns, ~0U);
    std::memset(written_.data() + from, 0, columns);
  }
  return true;
}

u32 TensorMemory::free_columns() const {
  return kTensorColumns - kTensorUnit * static_cast<u32>(taken_.count());
}

}  // namespace pyptx::emu
