// SPDX-License-Identifier: Apache-2.0
//
// Operand tiles of wgmma out of shared memory, eight rows at a time, by the descriptor's layout.
#pragma once

#include <optional>

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

/// Sixteen bytes of a tile that cannot be read: they leave shared memory, or nobody wrote them.
struct TileFault {
  u32 address = 0;
  bool is_outside = false;
};

/// Eight rows from row 8 * group on, `depth` floats each.
std::optional<TileFault> read_rows(const Cta& cta, const TileOperand& operand, u32 group,
                                   float* rows);
diag::Diagnostic bad_descriptor(const WgmmaOp& op, const std::string& problem);
/// What is said about a tile that cannot be read; `tile` is A or B.
diag::Diagnostic describe(const Warp& warp, const WgmmaOp& op, const TileFault& fault, char tile);
void negate(float* values, std::size_t count);

/// Calls put(group, rows) for every eight rows.
template <typename Put>
std::optional<TileFault> read_tile(const Cta& cta, const TileOperand& operand, Put&& put) {
  alignas(32) float rows[8 * kGreatestTileDepth];
  for (u32 group = 0; group < operand.rows / 8; ++group) {
    if (const auto fault = read_rows(cta, operand, group, rows)) return fault;
    put(group, rows);
  }
  return std::nullopt;
}

/// wgmma of single bits; what is wrong with a tile, or nothing.
std::optional<diag::Diagnostic> multiply_bits(Cta& cta, u32 warpgroup, const WgmmaOp& op);

}  // namespace pyptx::emu
