// SPDX-License-Identifier: Apache-2.0
//
// How a whole operand tile lies in shared memory so that wgmma and tcgen05 descriptors walk it (PTX
// ISA, "Shared Memory Matrix Layout"). A tile is stored as blocks that are one swizzle row (16, 32,
// 64 or 128 bytes) wide in the contiguous direction and as long as the tile in the other one: what
// a TMA load of each block writes. Any other arrangement is the author's own descriptor.
#pragma once

#include <cstdint>
#include <string>

#include "pyptx/layout/matrix_descriptor.h"
#include "pyptx/layout/swizzle.h"
#include "pyptx/support/result.h"

namespace pyptx::layout {

/// An operand tile of `mn` rows (M of A, N of B) and `k` columns.
struct OperandTile {
  std::uint32_t element_bytes = 0;  // 1, 2 or 4
  std::uint32_t mn = 0;
  std::uint32_t k = 0;
  Major major = Major::K;
  bool byte_mn = false;  // tcgen05: an MN-major operand may have 8-bit elements too

  /// Bytes of the contiguous direction, and elements of the other one.
  std::uint32_t row_bytes() const { return (major == Major::K ? k : mn) * element_bytes; }
  std::uint32_t rows() const { return major == Major::K ? mn : k; }
  std::uint64_t bytes() const { return std::uint64_t{mn} * k * element_bytes; }
};

/// The fields of a descriptor for such a tile.
struct CanonicalLayout {
  Swizzle swizzle = Swizzle::None;
  std::uint32_t leading_bytes = 0;  // 16 where the hardware ignores it (swizzled K-major)
  std::uint32_t stride_bytes = 0;

  LayoutType type() const { return layout_type(swizzle); }
  MatrixDescriptor descriptor(std::uint32_t start) const {
    return {start, leading_bytes, stride_bytes, 0, type()};
  }
};

/// The fields for `tile` stored with `swizzle`, or why there are none.
support::Result<CanonicalLayout, std::string> canonical_layout(const OperandTile& tile,
                                                               Swizzle swizzle);
/// The same with the widest swizzle whose row divides the contiguous direction.
support::Result<CanonicalLayout, std::string> pick_layout(const OperandTile& tile);

/// Bytes from the start of the tile to the address that a descriptor starts at for the columns
/// from `k` on. `k` must be a multiple of a 16-byte chunk (K-major) or of 8 (MN-major).
std::uint32_t k_advance(const OperandTile& tile, Swizzle swizzle, std::uint32_t k);
/// Bytes from the start of the tile to its row `mn`, a multiple of 8 (K-major) or of the swizzle
/// row (MN-major).
std::uint32_t mn_advance(const OperandTile& tile, Swizzle swizzle, std::uint32_t mn);

/// Elements of K that one wgmma takes: 256 bits.
constexpr std::uint32_t wgmma_k(std::uint32_t element_bytes) { return 32U / element_bytes; }

}  // namespace pyptx::layout
