// SPDX-License-Identifier: Apache-2.0
//
// Products of matrices in panels: the form in which every matrix instruction multiplies. Eight
// outputs are one vector. An A panel has a vector of eight for each place along K, and so has a B
// panel; the output vector of panels p and q is the sum over k of a[p][k] * b[q][k], lane by lane.
// Where rows and columns lie in those lanes is the caller's: in the accumulator registers of mma
// and wgmma (eight lanes are 2 rows x 4 columns), or along a row. Integers multiply here too: their
// products and sums are exact in f32.
//
// Compiled once per instruction-set variant of the host (sem/variant_*.cpp).
#pragma once

#include <cstddef>

#include "numerics/tensor_sum.h"

namespace pyptx::emu {

inline constexpr u32 kVector = 8;

struct Panels {
  const float* a = nullptr;   // [a_count][depth][8]; a_count is even
  const float* b = nullptr;   // [b_count][depth][8]; b_count is even
  float* const* d = nullptr;  // [a_count][b_count] vectors of eight: C going in, D coming out
  u32 a_count = 0;
  u32 b_count = 0;
  u32 depth = 0;
};

/// What the exact sums need besides the values, made once for each panel.
struct Exponents {
  i16* a = nullptr;         // [a_count / 2][depth][16]
  i16* b = nullptr;         // [b_count][depth][16], the eight twice
  u8* a_special = nullptr;  // [a_count]: lanes with an infinity or NaN
  u8* b_special = nullptr;
};

/// Where place k lies in a panel of which the first half has the first two of any four neighbours.
constexpr u32 place_apart(u32 k, u32 depth) {
  return (k & 2U) / 2 * (depth / 2) + k / 4 * 2 + (k & 1U);
}

/// One register of an mma operand: 32 lanes that hold `32 / bits` elements each.
struct OperandRegister {
  Element element = Element::None;
  const u32* lanes = nullptr;
  u32 first = 0;  // the place along K of lane 0's first element
  u32 half = 0;   // of A: 1 for the rows from 8 on
  u32 depth = 0;  // of the panel
  bool takes_pairs_apart = false;
};

struct PanelKernels {
  /// In f32, with fused multiply-adds where the host has them. NaNs come out canonical.
  void (*multiply)(const Panels& panels);
  void (*find_exponents)(const Panels& panels, const SumRule& rule, const Exponents& out);
  void (*multiply_exact)(const Panels& panels, const SumRule& rule, const Exponents& exponents);

  /// The mma layout of a warp: A panel half * 4 + v holds rows 2 v and 2 v + 1 (+ 8 half), four
  /// lanes each; B panel q the columns q, q + 2, q + 4, q + 6, twice.
  void (*spread_a)(const OperandRegister& from, float* panel);
  void (*spread_b)(const OperandRegister& from, float* panel);
  /// The same from eight rows along K (columns for B), `depth` floats each.
  void (*rows_to_a)(const float* rows, u32 depth, float* panels);
  void (*rows_to_b)(const float* rows, u32 depth, float* panels);
  /// Chunks of sixteen bytes of elements, one behind the other.
  void (*decode_chunks)(Element element, const std::byte* const* from, u32 count, float* to);
  /// 32 lanes of a pair of halves, apart.
  void (*unpack_halves)(const u32* pair, float* low, float* high);
  /// To nearest even; NaNs come out canonical.
  void (*pack_halves)(const float* low, const float* high, u32* pair);
};

/// The best variant for this processor.
const PanelKernels& panel_kernels();

/// Multiplies as the launch asks for: in f32, or by `rule`.
void multiply(const Panels& panels, Numerics numerics, const SumRule& rule);

}  // namespace pyptx::emu
