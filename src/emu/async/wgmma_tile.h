// SPDX-License-Identifier: Apache-2.0
//
// Operand tiles of wgmma out of shared memory, eight rows at a time, by the descriptor's layout.
#pragma once

#include <string>

#include "async/wgmma_queue.h"
#include "cta.h"
#include "numerics/panel.h"
#include "pyptx/layout/matrix_descriptor.h"

namespace pyptx::emu {

struct TileOperand {
  layout::MatrixDescriptor descriptor;
  layout::Major major = layout::Major::K;
  Element element = Element::None;
  u32 rows = 0;  // M or N
  u32 depth = 0;
  bool is_negative = false;
};

inline constexpr u32 kGreatestTileDepth = 64;  // 8-bit B against a sparse A

/// Eight rows from row 8 * group on, `depth` floats each; false when they leave shared memory.
bool read_rows(const Cta& cta, const TileOperand& operand, u32 group, float* rows);
void negate(float* values, std::size_t count);

/// Calls put(group, rows) for every eight rows.
template <typename Put>
bool read_tile(const Cta& cta, const TileOperand& operand, Put&& put) {
  alignas(32) float rows[8 * kGreatestTileDepth];
  for (u32 group = 0; group < operand.rows / 8; ++group) {
    if (!read_rows(cta, operand, group, rows)) return false;
    put(group, rows);
  }
  return true;
}

/// wgmma of single bits; what is wrong with a descriptor, or nothing.
std::string multiply_bits(Cta& cta, u32 warpgroup, const WgmmaOp& op);

}  // namespace pyptx::emu
