// SPDX-License-Identifier: Apache-2.0
//
// A sparse A (PTX ISA, "Sparse matrix storage"): half the elements along K are stored, and metadata
// says which place each of them has. A product takes B at those places only: what B has elsewhere,
// an infinity or a NaN included, does not count.
#pragma once

#include "numerics/panel.h"

namespace pyptx::emu {

struct SparsePattern {
  Element element = Element::None;  // of A
  u32 stored = 0;                   // elements along K
  u32 selector = 0;
  bool is_ordered = false;
};

/// Whether the selector names threads that a quad has.
bool has_metadata(const SparsePattern& pattern);

/// The dense place along K of each stored element of 16 rows: [panel][stored][2], the even row of
/// the panel and the odd one. `metadata` is one register of the warp. False where the metadata
/// names no two places of a chunk, which the manual leaves undefined.
bool sparse_places(const SparsePattern& pattern, const u32* metadata, u32 rows, u8* places);

/// As multiply(), with B of twice A's depth; panels.depth is B's.
void multiply_sparse(const Panels& panels, const u8* places, Numerics numerics,
                     const SumRule& rule);

}  // namespace pyptx::emu
