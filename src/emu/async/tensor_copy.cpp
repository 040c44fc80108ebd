// SPDX-License-Identifier: Apache-2.0
//
// Tensor copies (PTX ISA, "Tensors": tiled mode, im2col mode, gathered rows, swizzling, out of
// boundary access): which rows of the tensor a copy touches, and where their bytes lie in shared
// memory.
#include <algorithm>
#include <bit>
#include <cstring>

#include "async/bulk_queue.h"
#include "pyptx/layout/swizzle.h"

namespace pyptx::emu {
namespace {

/// One row of the tile: elements along dimension 0.
struct Row {
  bool in_bounds = false;  // of dimensions 1..rank-1
  u64 offset = 0;          // bytes from the tensor's start to coordinate 0; only in bounds
  u64 index = 0;           // of the row in the tile
};

u32 stride_of(const layout::TensorMap& map, u32 dim) {
  return std::max(1U, map.element_strides[dim]);
}

/// Sets bounds and offset of a row from its coordinates 1..rank-1.
void place(const layout::TensorMap& map, const std::array<i64, 5>& at, Row& row) {
  row.in_bounds = true;
  row.offset = 0;
  for (u32 d = 1; d < map.rank; ++d) {
    row.in_bounds = row.in_bounds && at[d] >= 0 && static_cast<u64>(at[d]) < map.dims[d];
    row.offset += static_cast<u64>(at[d]) * map.strides[d - 1];
  }
}

template <typename F>
void each_tile_row(const BulkOp& op, F&& body) {
  const layout::TensorMap& map = op.map;
  std::array<i64, 5> step{};
  Row row;
  for (;; ++row.index) {
    std::array<i64, 5> at{};
    for (u32 d = 1; d < map.rank; ++d) at[d] = op.coordinates[d] + step[d] * stride_of(map, d);
    place(map, at, row);
    body(row);
    u32 d = 1;
    const auto steps = [&](u32 dim) {
      return (map.box[dim] + stride_of(map, dim) - 1) / stride_of(map, dim);
    };
    while (d < map.rank && ++step[d] == steps(d)) step[d++] = 0;
    if (d >= map.rank) return;
  }
}

/// Pixels in the order of W, H, D, N inside the bounding box; the offsets of the instruction move
/// what is read, not the box.
template <typename F>
void each_pixel(const BulkOp& op, F&& body) {
  const layout::TensorMap& map = op.map;
  const u32 last = map.rank - 1U;  // N
  std::array<i64, 5> base{};
  for (u32 d = 1; d <= last; ++d) base[d] = op.coordinates[d];
  Row row;
  for (; row.index < map.im2col.pixels; ++row.index) {
    std::array<i64, 5> at = base;
    for (u32 d = 1; d < last; ++d) at[d] += op.offsets[d - 1];
    place(map, at, row);
    body(row);
    u32 d = 1;
    for (; d < last; ++d) {
      base[d] += stride_of(map, d);
      const i64 end = static_cast<i64>(map.dims[d]) + map.im2col.upper[d - 1];
      if (base[d] < end) break;
      base[d] = map.im2col.lower[d - 1];
    }
    if (d == last) ++base[last];
  }
}

template <typename F>
void each_gathered_row(const BulkOp& op, F&& body) {
  Row row;
  for (; row.index < 4; ++row.index) {
    place(op.map, {0, op.coordinates[1 + row.index], 0, 0, 0}, row);
    body(row);
  }
}

template <typename F>
void each_row(const BulkOp& op, F&& body) {
  switch (op.mode) {
    case TileMode::Tile:
      return each_tile_row(op, body);
    case TileMode::Im2col:
      return each_pixel(op, body);
    case TileMode::Rows4:
      return each_gathered_row(op, body);
  }
}

u32 row_elements(const BulkOp& op) {
  return op.mode == TileMode::Im2col ? op.map.im2col.channels : op.map.box[0];
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
  const i64 count = row_elements(op);
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

/// Copies between a row's line and its swizzled chunks in shared memory.
template <typename F>
void each_chunk(const BulkOp& op, u32 offset, u64 row_bytes, F&& body) {
  for (u64 k = 0; k < row_bytes; k += 16) {
    body(layout::apply_swizzle(op.map.swizzle, offset + static_cast<u32>(k)), k);
  }
}

}  // namespace

u64 tile_bytes(const BulkOp& op) {
  const u64 row = u64{row_elements(op)} * layout::element_bytes(op.map.type);
  if (op.mode == TileMode::Rows4) return 4 * row;
  return op.map.box_bytes();
}

std::vector<std::pair<u64, u64>> global_spans(const BulkOp& op) {
  const Range range = inside(op);
  std::vector<std::pair<u64, u64>> spans;
  if (range.end == range.begin) return spans;
  const u64 bytes = (range.end - range.begin) * layout::element_bytes(op.map.type);
  each_row(op, [&](const Row& row) {
    if (row.in_bounds) spans.emplace_back(host_address(op, row, range.begin), bytes);
  });
  return spans;
}

Ty element_type(layout::MapType type) {
  switch (type) {
    case layout::MapType::U32:
      return Ty::U32;
    case layout::MapType::S32:
      return Ty::S32;
    case layout::MapType::U64:
      return Ty::U64;
    case layout::MapType::S64:
      return Ty::S64;
    case layout::MapType::F16:
      return Ty::F16;
    case layout::MapType::BF16:
      return Ty::BF16;
    case layout::MapType::F64:
      return Ty::F64;
    case layout::MapType::U8:
      return Ty::U8;
    case layout::MapType::U16:
      return Ty::U16;
    default:
      return Ty::F32;
  }
}

void load_tile(const BulkOp& op, std::byte* shared, u32 offset) {
  const u32 element = layout::element_bytes(op.map.type);
  const u64 count = row_elements(op);
  const u64 row_bytes = count * element;
  const Range range = inside(op);
  const u64 fill = op.map.oob_nan ? nan_of(op.map.type) : 0;
  const bool ftz =
      op.map.type == layout::MapType::F32Ftz || op.map.type == layout::MapType::TF32Ftz;
  std::byte line[256 * 8];
  each_row(op, [&](const Row& row) {
    const Range valid = row.in_bounds ? range : Range{};
    for (u64 i = 0; i < count; ++i) {
      if (i == valid.begin && valid.end > valid.begin) i = valid.end;
      if (i < count) std::memcpy(line + i * element, &fill, element);
    }
    if (valid.end > valid.begin) {
      std::memcpy(line + valid.begin * element,
                  reinterpret_cast<const std::byte*>(host_address(op, row, valid.begin)),
                  (valid.end - valid.begin) * element);
    }
    if (ftz) flush_subnormals(line, count);
    each_chunk(op, offset + static_cast<u32>(row.index * row_bytes), row_bytes,
               [&](u32 at, u64 k) { std::memcpy(shared + at, line + k, 16); });
  });
}

void store_tile(const BulkOp& op, const std::byte* shared, u32 offset) {
  const u32 element = layout::element_bytes(op.map.type);
  const u64 row_bytes = u64{row_elements(op)} * element;
  const Range range = inside(op);
  if (range.end == range.begin) return;
  std::byte line[256 * 8];
  each_row(op, [&](const Row& row) {
    if (!row.in_bounds) return;
    each_chunk(op, offset + static_cast<u32>(row.index * row_bytes), row_bytes,
               [&](u32 at, u64 k) { std::memcpy(line + k, shared + at, 16); });
    auto* to = reinterpret_cast<std::byte*>(host_address(op, row, range.begin));
    const std::byte* from = line + range.begin * element;
    const u64 bytes = (range.end - range.begin) * element;
    if (op.reduce == ReduceOp::None) {
      std::memcpy(to, from, bytes);
    } else {
      reduce(op.reduce, op.type, op.keeps_subnormals, to, from, bytes);
    }
  });
}

}  // namespace pyptx::emu
