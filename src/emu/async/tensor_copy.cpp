// SPDX-License-Identifier: Apache-2.0
//
// The tile mode of tensor copies (PTX ISA, "Tensors: Tiled Mode", "Swizzling Modes", "Out of
// boundary access"): boxes of 1 to 5 dimensions, traversal strides, out-of-bounds fill.
#include <algorithm>
#include <bit>
#include <cstring>

#include "async/bulk_queue.h"
#include "pyptx/layout/swizzle.h"

namespace pyptx::emu {
namespace {

/// One row of the box: the elements along dimension 0.
struct Row {
  bool in_bounds = false;  // of dimensions 1..rank-1
  u64 offset = 0;          // bytes from the tensor's start to coordinate 0; only in bounds
  u64 index = 0;           // of the row in the tile
};

u64 steps(const layout::TensorMap& map, u32 dim) {
  const u64 stride = dim == 0 ? 1 : std::max(1U, map.element_strides[dim]);
  return (map.box[dim] + stride - 1) / stride;
}

template <typename F>
void each_row(const BulkOp& op, F&& body) {
  const layout::TensorMap& map = op.map;
  u64 at[5] = {};
  Row row;
  for (;; ++row.index) {
    row.in_bounds = true;
    row.offset = 0;
    for (u32 d = 1; d < map.rank; ++d) {
      const i64 c =
          op.coordinates[d] + static_cast<i64>(at[d]) * std::max(1U, map.element_strides[d]);
      row.in_bounds = row.in_bounds && c >= 0 && static_cast<u64>(c) < map.dims[d];
      row.offset += static_cast<u64>(c) * map.strides[d - 1];
    }
    body(row);
    u32 d = 1;
    while (d < map.rank && ++at[d] == steps(map, d)) at[d++] = 0;
    if (d >= map.rank) return;
  }
}

/// The NaN that fills out-of-bounds elements of a floating-point tensor.
u64 nan_of(layout::MapType type) {
  switch (type) {
    case layout::MapType::F16:
    case layout::MapType::BF16:
      return 0x7FFFU;
    case layout::MapType::F64:
      return 0x7FFFFFFFFFFFFFFFULL;
    case layout::MapType::F32:
    case layout::MapType::F32Ftz:
    case layout::MapType::TF32:
    case layout::MapType::TF32Ftz:
      return 0x7FFFFFFFU;
    default:
      return 0;
  }
}

/// Elements [begin, end) of the row that lie inside dimension 0.
struct Range {
  u64 begin = 0;
  u64 end = 0;
};
Range inside(const BulkOp& op) {
  const i64 first = op.coordinates[0];
  const i64 size = static_cast<i64>(op.map.dims[0]);
  const i64 count = static_cast<i64>(op.map.box[0]);
  const i64 begin = std::clamp<i64>(-first, 0, count);
  const i64 end = std::clamp<i64>(size - first, begin, count);
  return {static_cast<u64>(begin), static_cast<u64>(end)};
}

/// Of element `i` of a row; it lies inside the tensor.
u64 host_address(const BulkOp& op, const Row& row, u64 i) {
  const u64 column = static_cast<u64>(op.coordinates[0] + static_cast<i64>(i));
  return op.global + row.offset + column * layout::element_bytes(op.map.type);
}

void flush_subnormals(std::byte* bytes, u64 count) {
  for (u64 i = 0; i < count; ++i) {
    u32 bits = 0;
    std::memcpy(&bits, bytes + 4 * i, 4);
    if ((bits & 0x7F800000U) == 0) bits &= 0x80000000U;
    std::memcpy(bytes + 4 * i, &bits, 4);
  }
}

}  // namespace

void load_tile(const BulkOp& op, std::byte* shared, u32 offset) {
  const u32 element = layout::element_bytes(op.map.type);
  const u64 row_bytes = u64{op.map.box[0]} * element;
  const Range range = inside(op);
  const u64 fill = op.map.oob_nan ? nan_of(op.map.type) : 0;
  const bool ftz =
      op.map.type == layout::MapType::F32Ftz || op.map.type == layout::MapType::TF32Ftz;
  std::byte line[256 * 8];
  each_row(op, [&](const Row& row) {
    const Range valid = row.in_bounds ? range : Range{};
    for (u64 i = 0; i < op.map.box[0]; ++i) {
      if (i == valid.begin && valid.end > valid.begin) i = valid.end;
      if (i < op.map.box[0]) std::memcpy(line + i * element, &fill, element);
    }
    if (valid.end > valid.begin) {
      std::memcpy(line + valid.begin * element,
                  reinterpret_cast<const std::byte*>(host_address(op, row, valid.begin)),
                  (valid.end - valid.begin) * element);
    }
    if (ftz) flush_subnormals(line, op.map.box[0]);
    const u32 start = offset + static_cast<u32>(row.index * row_bytes);
    for (u64 k = 0; k < row_bytes; k += 16) {
      std::memcpy(shared + layout::apply_swizzle(op.map.swizzle, start + static_cast<u32>(k)),
                  line + k, 16);
    }
  });
}

void store_tile(const BulkOp& op, const std::byte* shared, u32 offset) {
  const u32 element = layout::element_bytes(op.map.type);
  const u64 row_bytes = u64{op.map.box[0]} * element;
  const Range range = inside(op);
  if (range.end == range.begin) return;
  std::byte line[256 * 8];
  each_row(op, [&](const Row& row) {
    if (!row.in_bounds) return;
    const u32 start = offset + static_cast<u32>(row.index * row_bytes);
    for (u64 k = 0; k < row_bytes; k += 16) {
      std::memcpy(line + k,
                  shared + layout::apply_swizzle(op.map.swizzle, start + static_cast<u32>(k)), 16);
    }
    std::memcpy(reinterpret_cast<std::byte*>(host_address(op, row, range.begin)),
                line + range.begin * element, (range.end - range.begin) * element);
  });
}

}  // namespace pyptx::emu
