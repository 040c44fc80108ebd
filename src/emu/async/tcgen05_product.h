// SPDX-License-Identifier: Apache-2.0
//
// What products of tcgen05 with and without block scales share.
#pragma once

#include <vector>

#include "async/tcgen05_tile.h"

namespace pyptx::emu {

/// A and B of all CTAs as rows of `depth` floats.
struct Tcgen05Operands {
  std::vector<float> a;
  std::vector<float> b;
  /// Rows of A and columns of B that have an element without a value.
  std::vector<u8> a_gaps;
  std::vector<u8> b_gaps;
  u32 depth = 0;
  TensorProblem read(const TensorOp& op);
};

/// Whether disable-output-lane keeps the lane of CTA `cta` of the pair as it is.
bool is_disabled(const TensorOp& op, u32 cta, u32 lane);
/// A product that is added to D needs a D.
TensorProblem check_accumulator(const TensorOp& op);
/// D has a value now, where A and B have.
void mark_accumulator(const TensorOp& op, const Tcgen05Operands& operands);

}  // namespace pyptx::emu
