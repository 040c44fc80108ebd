// SPDX-License-Identifier: Apache-2.0
//
// How an allocation of shared memory stores a tile: row by row, or, under a swizzle, in blocks one
// swizzle row wide and as long as the tile has rows, as a TMA load of each block writes it.
#pragma once

#include <cstdint>

#include "pyptx/layout/swizzle.h"

namespace pyptx::layout {

/// Where the bytes of a tile are.
struct StoredTile {
  Swizzle swizzle = Swizzle::None;
  std::uint64_t rows = 0;
  std::uint64_t row_bytes = 0;  // a multiple of the swizzle's row
  bool is_matrix = false;       // of wgmma: without a swizzle in blocks too, of 16 bytes

  std::uint64_t bytes() const { return rows * row_bytes; }
  /// Bytes from the tile's start to byte `byte` of row `row`, before the swizzle.
  constexpr std::uint64_t linear(std::uint64_t row, std::uint64_t byte) const {
    if (swizzle == Swizzle::None && !is_matrix) return row * row_bytes + byte;
    const std::uint64_t span = swizzle_span(swizzle);
    return byte / span * rows * span + row * span + byte % span;
  }
  /// The shared address of that byte, the tile being at `start`.
  constexpr std::uint32_t address(std::uint32_t start, std::uint64_t row,
                                  std::uint64_t byte) const {
    return apply_swizzle(swizzle, start + static_cast<std::uint32_t>(linear(row, byte)));
  }
};

}  // namespace pyptx::layout
