// SPDX-License-Identifier: Apache-2.0
//
// What one tensor copy touches: which rows of the tensor, which of their elements lie inside it,
// and where each 16 bytes lie in shared memory (PTX ISA, "Tensors": tiled mode, im2col mode,
// gathered rows, swizzling, out of boundary access). The emulator copies by this; pictures are
// drawn from it.
#pragma once

#include <array>
#include <cstdint>

#include "pyptx/layout/swizzle.h"
#include "pyptx/layout/tensor_map.h"

namespace pyptx::layout {

/// How a tensor copy walks its tensor.
enum class BoxMode : std::uint8_t { Tile, Im2col, Rows4 };

/// One row of a tile: what lies along dimension 0, elements or slices of channels.
struct BoxRow {
  bool in_bounds = false;    // of dimensions 1..rank-1
  std::uint64_t offset = 0;  // bytes from the tensor's start to coordinate 0; only in bounds
  std::uint64_t index = 0;   // of the row in the tile
  std::array<std::int64_t, 5> at{};  // coordinates; that of dimension 0 is the box's
};

/// A part of a row, in what dimension 0 counts: [begin, end).
struct BoxRange {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

/// What fills elements outside a tensor when NaN is asked for: this, in every 16 bits, whatever the
/// type (seen on an H200; the manual only calls it a special NaN).
inline constexpr std::uint64_t kOutsideNan = 0x7FF77FF77FF77FF7ULL;

/// The part of a tensor that a copy names.
struct TensorBox {
  TensorMap map;
  BoxMode mode = BoxMode::Tile;
  std::array<std::int32_t, 5> coordinates{};
  std::array<std::uint32_t, 3> offsets{};  // of im2col: W, H, D

  /// Bytes of the tile, and of the shared memory that it spans.
  std::uint64_t tile_bytes() const {
    return mode == BoxMode::Rows4 ? 4 * map.row_bytes() : map.box_bytes();
  }
  std::uint64_t tile_extent() const { return tile_bytes() / map.row_bytes() * map.row_pitch(); }
  /// What of each row lies inside dimension 0. A store writes whole pieces of 16 bytes.
  BoxRange inside(bool is_store) const;
  /// Elements of dimension 0 from one of a row to the next.
  std::int64_t column_step() const;
  /// Bytes from the tensor's start to number `i` of a row; it lies inside the tensor.
  std::uint64_t global_offset(const BoxRow& row, std::uint64_t i) const {
    const std::int64_t column = coordinates[0] + static_cast<std::int64_t>(i) * column_step();
    return row.offset + static_cast<std::uint64_t>(column) * map.unit_bytes();
  }
  /// Where byte `k` of a row, a multiple of 16, lies in shared memory; the tile begins at `start`.
  std::uint32_t shared_offset(std::uint32_t start, const BoxRow& row, std::uint64_t k) const {
    const std::uint64_t linear = start + row.index * map.row_pitch() + k;
    return apply_swizzle(map.swizzle, static_cast<std::uint32_t>(linear));
  }

  /// Calls body(row) for each row of the tile, in the order of shared memory.
  template <typename F>
  void each_row(F&& body) const;

 private:
  std::uint32_t stride_of(std::uint32_t dim) const;
  void place(BoxRow& row) const;
  bool next_tile_row(BoxRow& row, std::array<std::uint32_t, 5>& step) const;
  void next_pixel(std::array<std::int64_t, 5>& base) const;
  std::array<std::int64_t, 5> first_at() const;
};

template <typename F>
void TensorBox::each_row(F&& body) const {
  BoxRow row;
  if (mode == BoxMode::Rows4) {
    for (; row.index < 4; ++row.index) {
      row.at = {coordinates[0], coordinates[1 + row.index], 0, 0, 0};
      place(row);
      body(row);
    }
    return;
  }
  if (mode == BoxMode::Tile) {
    std::array<std::uint32_t, 5> step{};
    row.at = first_at();
    do {
      place(row);
      body(row);
    } while (next_tile_row(row, step));
    return;
  }
  // Pixels in the order of W, H, D, N inside the bounding box; the offsets of the instruction move
  // what is read, not the box.
  for (std::array<std::int64_t, 5> base = first_at(); row.index < map.im2col.pixels; ++row.index) {
    row.at = base;
    for (std::uint32_t d = 1; d + 1 < map.rank; ++d) row.at[d] += offsets[d - 1];
    place(row);
    body(row);
    next_pixel(base);
  }
}

}  // namespace pyptx::layout
