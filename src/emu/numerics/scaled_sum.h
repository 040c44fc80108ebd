// SPDX-License-Identifier: Apache-2.0
//
// Sums of block-scaled products (PTX ISA, "Block Scaling"): one output at a time. The exact model
// of arXiv 2511.10909: with one scale for all of K the scales' exponents join those of the
// elements; with narrower blocks 16 products are added exactly, multiplied with the scales'
// significands, and aligned by the scales' exponents alone to 35 fraction bits.
#pragma once

#include "numerics/tensor_sum.h"

namespace pyptx::emu {

struct ScaledTerms {
  const float* a = nullptr;
  const float* b = nullptr;
  u32 stride = 1;  // floats from product to product
  u32 count = 0;
  const u8* scale_a = nullptr;  // `scales` bytes, one for each equal part of the products
  const u8* scale_b = nullptr;
  u32 scales = 1;
  bool is_ue4m3 = false;  // else ue8m0
  float c = 0;
};

float scaled_sum(const ScaledTerms& terms, Numerics numerics, const SumRule& rule);

}  // namespace pyptx::emu
