// SPDX-License-Identifier: Apache-2.0
//
// What an mma or wmma instruction says besides its registers. Its lists of registers are, in order,
// those of D, A, B and C.
#pragma once

#include <vector>

#include "numerics/tensor_sum.h"

namespace pyptx::emu {

enum class Accumulator : u8 { F32, F16, S32, F64 };

/// How the metadata of a sparse A names places along K (PTX ISA, "Sparse matrix storage").
struct Sparsity {
  bool is_sparse = false;
  bool is_ordered = false;
  u8 selector = 0;  // which threads of a quad give the metadata
  u32 metadata = 0;
};

/// Scale factors of blocks along K (PTX ISA, "Block Scaling for mma.sync").
struct BlockScale {
  u8 count = 0;  // scales along K; 0: none
  bool is_ue4m3 = false;
  u32 a = 0;  // registers
  u32 b = 0;
  u32 select_a[2] = {0, 0};  // byte and thread: registers
  u32 select_b[2] = {0, 0};
};

struct MmaForm {
  Element a = Element::None;
  Element b = Element::None;
  Accumulator c = Accumulator::F32;
  Accumulator d = Accumulator::F32;
  Round round = Round::Nearest;
  bool saturate = false;
  bool is_xor = false;  // of b1
  bool is_wmma = false;
  bool a_by_rows = true;  // m8n8k4
  bool b_by_rows = false;
  // wmma is several products of 16 or 8 rows and 8 columns; mma is one.
  u32 rows = 16;
  u32 row_blocks = 1;
  u32 column_blocks = 1;
  u32 depth = 16;
  // Registers of one block.
  u32 a_registers = 0;
  u32 b_registers = 0;
  u32 c_registers = 0;
  u32 d_registers = 0;
  // Where each operand starts in the list.
  u32 a_first = 0;
  u32 b_first = 0;
  u32 c_first = 0;
  Sparsity sparsity;
  BlockScale scale;

  /// Elements of A along K that are stored.
  u32 stored() const { return sparsity.is_sparse ? depth / 2 : depth; }
};

}  // namespace pyptx::emu
