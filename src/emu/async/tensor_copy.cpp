// SPDX-License-Identifier: Apache-2.0
//
// Tensor copies (PTX ISA, "Tensors": tiled mode, im2col mode, gathered rows, swizzling, out of
// boundary access): which rows of the tensor a copy touches, and where their bytes lie in shared
// memory.
#include <algorithm>
#include <bit>
#include <cstring>

#include "async/bulk_queue.h"
#include "machine/cluster.h"
#include "memory/relaxed.h"
#include "pyptx/layout/swizzle.h"

namespace pyptx::emu {
namespace {

/// One row of the tile: what lies along dimension 0, elements or slices of channels.
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
    while (d < map.rank && ++step[d] == map.box_count(d)) step[d++] = 0;
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

/// Of dimension 0, in elements or slices; the stride of elements is ignored there.
i64 column_step(const layout::TensorMap& map) {
  return map.is_interleaved() ? stride_of(map, 0) : 1;
}

/// What fills elements outside a tensor when NaN is asked for: this, in every 16 bits, whatever the
/// type (seen on an H200; the manual only calls it a special NaN).
constexpr u64 kOutsideNan = 0x7FF77FF77FF77FF7ULL;

/// What of the row lies inside dimension 0: [begin, end).
struct Range {
  u64 begin = 0;
  u64 end = 0;
};
Range inside(const BulkOp& op) {
  const i64 first = op.coordinates[0];
  const i64 step = column_step(op.map);
  const i64 size = static_cast<i64>(op.map.dims[0]);
  const i64 count = static_cast<i64>(op.map.row_bytes() / op.map.unit_bytes());
  const i64 begin = first < 0 ? std::min((step - 1 - first) / step, count) : 0;
  i64 end = first < size ? std::clamp((size - first + step - 1) / step, begin, count) : begin;
  if (op.kind == BulkOp::Kind::TensorStore && !op.map.is_interleaved()) {
    // A store writes whole pieces of 16 bytes: what lies behind the last element of a row is
    // overwritten (seen on an H200).
    const i64 piece = 16 / layout::element_bytes(op.map.type);
    end = (end + piece - 1) / piece * piece;
  }
  return {static_cast<u64>(begin), static_cast<u64>(end)};
}

/// Of number `i` of a row; it lies inside the tensor.
u64 host_address(const BulkOp& op, const Row& row, u64 i) {
  const i64 column = op.coordinates[0] + static_cast<i64>(i) * column_step(op.map);
  return op.global + row.offset + static_cast<u64>(column) * op.map.unit_bytes();
}

/// Calls body(number, bytes) for each piece of a row that is contiguous in the tensor.
template <typename F>
void each_piece(const BulkOp& op, Range range, F&& body) {
  const u64 count = column_step(op.map) == 1 ? range.end - range.begin : 1;
  for (u64 i = range.begin; i < range.end; i += count) body(i, count * op.map.unit_bytes());
}

/// A load rounds TF32 to the nearest, ties to even; a NaN becomes the canonical one. The types that
/// are named after flushing flush nothing on their way (both seen on an H200).
void round_tf32(layout::MapType type, std::byte* bytes, u64 count) {
  if (type != layout::MapType::TF32 && type != layout::MapType::TF32Ftz) return;
  for (u64 i = 0; i < count; ++i) {
    u32 bits = 0;
    std::memcpy(&bits, bytes + 4 * i, 4);
    const bool is_nan = (bits & 0x7FFFFFFFU) > 0x7F800000U;
    bits = is_nan ? 0x7FFFE000U : (bits + 0xFFFU + ((bits >> 13) & 1U)) & ~0x1FFFU;
    std::memcpy(bytes + 4 * i, &bits, 4);
  }
}

constexpr u64 kLongestRow = u64{256} * 32;  // of the largest box, in the largest slices

/// Copies between a row's line and its swizzled chunks in shared memory.
template <typename F>
void each_chunk(const BulkOp& op, u32 offset, u64 row_bytes, F&& body) {
  for (u64 k = 0; k < row_bytes; k += 16) {
    body(layout::apply_swizzle(op.map.swizzle, offset + static_cast<u32>(k)), k);
  }
}

/// Whether bytes [first, first + bytes) of a row of the tile have values.
bool has_source(const BulkOp& op, const Cta& cta, u32 start, u64 first, u64 bytes) {
  bool is_good = true;
  each_chunk(op, start, op.map.row_bytes(), [&](u32 at, u64 k) {
    const u64 from = std::max(first, k);
    const u64 to = std::min(first + bytes, k + 16);
    if (!is_good || from >= to) return;
    const u32 begin = at + static_cast<u32>(from - k);
    const u32 end = at + static_cast<u32>(to - k);
    if (!cta.defined.holds(begin, end)) {
      is_good = fail_source(op, cta, cta.defined.missing(begin, end));
    }
  });
  return is_good;
}

/// Whether a reduction finds values to add to.
bool has_target(const BulkOp& op, const GlobalMemory& memory, u64 address, u64 bytes) {
  if (op.reduce == ReduceOp::None) return true;
  for (u64 at = 0; at < bytes; at += 32) {
    const u32 missing =
        memory.undefined(address + at, static_cast<u32>(std::min<u64>(bytes - at, 32)));
    if (missing == 0) continue;
    fail_uninitialised(*op.warp, *op.inst, op.lane, "tensor copy", Space::Global,
                       address + at + Warp::first_lane(missing));
    return false;
  }
  return true;
}

}  // namespace

u64 tile_bytes(const BulkOp& op) {
  return op.mode == TileMode::Rows4 ? 4 * op.map.row_bytes() : op.map.box_bytes();
}

u64 tile_extent(const BulkOp& op) {
  return tile_bytes(op) / op.map.row_bytes() * op.map.row_pitch();
}

std::vector<std::pair<u64, u64>> global_spans(const BulkOp& op) {
  const Range range = inside(op);
  std::vector<std::pair<u64, u64>> spans;
  each_row(op, [&](const Row& row) {
    if (!row.in_bounds) return;
    each_piece(op, range,
               [&](u64 i, u64 bytes) { spans.emplace_back(host_address(op, row, i), bytes); });
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
      return Ty::Bf16;
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
  const u32 unit = op.map.unit_bytes();
  const u64 row_bytes = op.map.row_bytes();
  const Range range = inside(op);
  const u64 fill = op.map.oob_nan ? kOutsideNan : 0;
  std::byte line[kLongestRow];
  each_row(op, [&](const Row& row) {
    const Range valid = row.in_bounds ? range : Range{};
    if ((valid.end - valid.begin) * unit != row_bytes) {
      for (u64 k = 0; k < row_bytes; k += 8) std::memcpy(line + k, &fill, 8);
    }
    each_piece(op, valid, [&](u64 i, u64 bytes) {
      copy_from_global(line + i * unit,
                       reinterpret_cast<const std::byte*>(host_address(op, row, i)), bytes);
      round_tf32(op.map.type, line + i * unit, bytes / 4);
    });
    each_chunk(op, offset + static_cast<u32>(row.index * op.map.row_pitch()), row_bytes,
               [&](u32 at, u64 k) { std::memcpy(shared + at, line + k, 16); });
  });
}

bool store_tile(const BulkOp& op, const Cta& cta, u32 offset) {
  const u32 unit = op.map.unit_bytes();
  const u64 row_bytes = op.map.row_bytes();
  const Range range = inside(op);
  const GlobalMemory& memory = *op.warp->cta->cluster->memory;
  const bool is_whole = cta.defined.holds(offset, offset + static_cast<u32>(tile_extent(op)));
  if (range.end == range.begin) return true;
  std::byte line[kLongestRow];
  bool is_good = true;
  each_row(op, [&](const Row& row) {
    if (!row.in_bounds || !is_good) return;
    const u32 start = offset + static_cast<u32>(row.index * op.map.row_pitch());
    each_chunk(op, start, row_bytes,
               [&](u32 at, u64 k) { std::memcpy(line + k, cta.shared.data() + at, 16); });
    each_piece(op, range, [&](u64 i, u64 bytes) {
      auto* to = reinterpret_cast<std::byte*>(host_address(op, row, i));
      const std::byte* from = line + i * unit;
      is_good = is_good && (is_whole || has_source(op, cta, start, i * unit, bytes)) &&
                has_target(op, memory, reinterpret_cast<u64>(to), bytes);
      if (!is_good) return;
      memory.define(reinterpret_cast<u64>(to), bytes);
      if (op.reduce == ReduceOp::None) {
        copy_to_global(to, from, bytes);
      } else {
        reduce(op.reduce, op.type, op.keeps_subnormals, to, from, bytes);
      }
    });
  });
  return is_good;
}

}  // namespace pyptx::emu
