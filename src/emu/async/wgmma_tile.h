// SPDX-License-Identifier: Apache-2.0
//
// Operand tiles of wgmma out of shared memory, eight rows at a time, by the descriptor's layout.
#pragma once

#include <bitset>
#include <optional>

#include "async/wgmma_queue.h"
#include "machine/cta.h"
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

/// Rows of a tile that nobody wrote whole.
struct TileGaps {
  std::bitset<256> rows;
  u32 address = 0;  // of a byte that nobody wrote
};

/// Eight rows from row 8 * group on, `depth` floats each. False: the tile leaves shared memory.
bool read_rows(const Cta& cta, const TileOperand& operand, u32 group, float* rows, TileGaps& gaps);
diag::Diagnostic bad_descriptor(const WgmmaOp& op, const std::string& problem);
/// What is said about a tile that leaves shared memory; `tile` is A or B.
diag::Diagnostic outside(const WgmmaOp& op, char tile);
/// Marks the elements of D that depend on what nobody wrote.
void carry_gaps(Cta& cta, u32 warpgroup, const WgmmaOp& op, const TileGaps& a, const TileGaps& b);
void negate(float* values, std::size_t count);

/// Calls put(group, rows) for every eight rows.
template <typename Put>
bool read_tile(const Cta& cta, const TileOperand& operand, TileGaps& gaps, Put&& put) {
  alignas(32) float rows[8 * kGreatestTileDepth];
  gaps.rows.reset();
  for (u32 group = 0; group < operand.rows / 8; ++group) {
    if (!read_rows(cta, operand, group, rows, gaps)) return false;
    put(group, rows);
  }
  return true;
}

/// wgmma of single bits; what is wrong with a tile, or nothing.
std::optional<diag::Diagnostic> multiply_bits(Cta& cta, u32 warpgroup, const WgmmaOp& op);

}  // namespace pyptx::emu
