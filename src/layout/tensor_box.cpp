// SPDX-License-Identifier: Apache-2.0
//
// Coordinates and bounds of the rows of a tile. See tensor_box.h.
#include "pyptx/layout/tensor_box.h"

#include <algorithm>

namespace pyptx::layout {

std::uint32_t TensorBox::stride_of(std::uint32_t dim) const {
  return std::max(1U, map.element_strides[dim]);
}

std::int64_t TensorBox::column_step() const { return map.is_interleaved() ? stride_of(0) : 1; }

std::array<std::int64_t, 5> TensorBox::first_at() const {
  std::array<std::int64_t, 5> at{};
  for (std::uint32_t d = 0; d < map.rank; ++d) at[d] = coordinates[d];
  return at;
}

void TensorBox::place(BoxRow& row) const {
  row.in_bounds = true;
  row.offset = 0;
  for (std::uint32_t d = 1; d < map.rank; ++d) {
    const bool is_inside = row.at[d] >= 0 && static_cast<std::uint64_t>(row.at[d]) < map.dims[d];
    row.in_bounds = row.in_bounds && is_inside;
    row.offset += static_cast<std::uint64_t>(row.at[d]) * map.strides[d - 1];
  }
}

bool TensorBox::next_tile_row(BoxRow& row, std::array<std::uint32_t, 5>& step) const {
  ++row.index;
  std::uint32_t d = 1;
  while (d < map.rank && ++step[d] == map.box_count(d)) step[d++] = 0;
  if (d >= map.rank) return false;
  for (std::uint32_t i = 1; i <= d; ++i) {
    row.at[i] = coordinates[i] + std::int64_t{step[i]} * stride_of(i);
  }
  return true;
}

void TensorBox::next_pixel(std::array<std::int64_t, 5>& base) const {
  const std::uint32_t last = map.rank - 1U;  // N
  for (std::uint32_t d = 1; d < last; ++d) {
    base[d] += stride_of(d);
    const std::int64_t end = static_cast<std::int64_t>(map.dims[d]) + map.im2col.upper[d - 1];
    if (base[d] < end) return;
    base[d] = map.im2col.lower[d - 1];
  }
  ++base[last];
}

BoxRange TensorBox::inside(bool is_store) const {
  const std::int64_t first = coordinates[0];
  const std::int64_t step = column_step();
  const auto size = static_cast<std::int64_t>(map.dims[0]);
  const auto count = static_cast<std::int64_t>(map.row_bytes() / map.unit_bytes());
  const std::int64_t begin = first < 0 ? std::min((step - 1 - first) / step, count) : 0;
  std::int64_t end =
      first < size ? std::clamp((size - first + step - 1) / step, begin, count) : begin;
  if (is_store && !map.is_interleaved()) {
    // What lies behind the last element of a row is overwritten (seen on an H200).
    const std::int64_t piece = 16 / element_bytes(map.type);
    end = (end + piece - 1) / piece * piece;
  }
  return {static_cast<std::uint64_t>(begin), static_cast<std::uint64_t>(end)};
}

}  // namespace pyptx::layout
