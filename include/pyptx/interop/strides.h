// SPDX-License-Identifier: Apache-2.0
//
// Strides that a launch brings: arrays whose last dimension is contiguous and whose rows may lie
// apart, as those of a slice or of a half of another array. In elements; empty: dense, row-major.
#pragma once

#include <cstdint>
#include <span>

#include "pyptx/interop/sizes.h"

namespace pyptx::interop {

/// A shape or strides.
using Extents64 = std::span<const std::int64_t>;

/// Those of a dense row-major array.
Shape dense_strides(Extents64 shape);

/// The strides of a launch: the given ones but for dimensions of one element, whose strides mean
/// nothing, and for arrays without elements. Without given ones it is dense.
Shape row_strides(Extents64 shape, Extents64 given);

/// Elements from the first to the last, counting those in between.
std::uint64_t spanned_elements(Extents64 shape, Extents64 strides);

/// Whether no two elements of an array lie in one place, whatever the order of its dimensions.
/// Strides are not negative.
bool are_distinct(Extents64 shape, Extents64 strides);

/// The memory of an array: `width` bytes at its address and at multiples of `step` behind it, as
/// far as `bytes` go. Step 0: only there.
struct ByteRows {
  std::uint64_t bytes = 0;
  std::uint64_t width = 0;
  std::uint64_t step = 0;

  static ByteRows dense(std::uint64_t bytes) { return {bytes, bytes, 0}; }
  static ByteRows of(Extents64 shape, Extents64 strides, std::uint64_t element_bytes);
};

/// Whether two arrays at these addresses can have a byte in common. Halves of one array have none.
bool share_memory(std::uint64_t a, const ByteRows& a_rows, std::uint64_t b, const ByteRows& b_rows);

}  // namespace pyptx::interop
