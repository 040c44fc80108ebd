// SPDX-License-Identifier: Apache-2.0
//
// What strides say of an array's memory (see the header).
#include "pyptx/interop/strides.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

namespace pyptx::interop {

Shape dense_strides(Extents64 shape) {
  Shape out(shape.size());
  std::int64_t stride = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    out[i] = stride;
    stride *= std::max<std::int64_t>(shape[i], 1);
  }
  return out;
}

Shape row_strides(Extents64 shape, Extents64 given) {
  if (given.empty() || std::ranges::count(shape, 0) != 0) return dense_strides(shape);
  Shape out(shape.size());
  std::int64_t next = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    out[i] = shape[i] == 1 ? next : given[i];
    next = out[i] * shape[i];
  }
  return out;
}

std::uint64_t spanned_elements(Extents64 shape, Extents64 strides) {
  if (std::ranges::count(shape, 0) != 0) return 0;
  std::uint64_t last = 0;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    last += static_cast<std::uint64_t>(shape[i] - 1) * static_cast<std::uint64_t>(strides[i]);
  }
  return last + 1;
}

bool are_distinct(Extents64 shape, Extents64 strides) {
  std::vector<std::pair<std::int64_t, std::int64_t>> order;  // stride, extent
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] > 1) order.emplace_back(strides[i], shape[i]);
  }
  std::ranges::sort(order);
  std::int64_t reach = 0;  // from the first element to the last, in the dimensions so far
  for (const auto& [stride, extent] : order) {
    if (stride <= reach) return false;
    reach += stride * (extent - 1);
  }
  return true;
}

ByteRows ByteRows::of(Extents64 shape, Extents64 strides, std::uint64_t element_bytes) {
  ByteRows rows = dense(spanned_elements(shape, strides) * element_bytes);
  if (rows.bytes == 0 || shape.empty() || (shape.back() != 1 && strides.back() != 1)) return rows;
  rows.width = static_cast<std::uint64_t>(shape.back()) * element_bytes;
  for (std::size_t i = 0; i + 1 < shape.size(); ++i) {
    if (shape[i] <= 1) continue;
    rows.step = std::gcd(rows.step, static_cast<std::uint64_t>(strides[i]) * element_bytes);
  }
  return rows;
}

bool share_memory(std::uint64_t a, const ByteRows& a_rows, std::uint64_t b,
                  const ByteRows& b_rows) {
  if (a > b) return share_memory(b, b_rows, a, a_rows);
  if (a_rows.bytes == 0 || b_rows.bytes == 0 || b - a >= a_rows.bytes) return false;
  const std::uint64_t step = std::gcd(a_rows.step, b_rows.step);
  if (step == 0) return true;
  const std::uint64_t apart = (b - a) % step;
  return apart < a_rows.width || step - apart < b_rows.width;
}

}  // namespace pyptx::interop
