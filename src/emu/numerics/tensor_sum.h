// SPDX-License-Identifier: Apache-2.0
//
// How a tensor core adds: the products of one output are exact, all terms are aligned to the
// greatest exponent among them and cut toward zero to a fixed number of fraction bits, their sum is
// exact, and the result is cut (f32) or rounded to nearest even (f16). The number of bits, and how
// many products go into one such sum, is the generation's. PTX leaves all of it open; the model is
// that of arXiv 2511.10909 and 2512.07004.
#pragma once

#include "numerics/element.h"
#include "pyptx/emu/emulator.h"

namespace pyptx::emu {

struct SumRule {
  enum class Output : u8 {
    F32,       // cut to 24 bits
    ShortF32,  // cut to 14 bits
    F16,       // to nearest even
  };
  u8 fraction_bits = 25;
  Output output = Output::F32;
  /// The sum of products starts at zero, and C is added to it by an ordinary add.
  bool adds_c_last = false;
  /// Within four neighbours along K, the first two go into the first half of the sums.
  bool takes_pairs_apart = false;
  u16 chunk = 16;  // products of one sum; C, or the sum so far, is one more term
  i16 least_a = -126;
  i16 least_b = -126;
  i16 least_c = -126;
};

/// Which instruction a sum belongs to: the same chip does not add alike in all of them.
enum class MatrixUnit : u8 { Mma, Wgmma, Tcgen05 };

struct SumRequest {
  TensorCore core = TensorCore::Hopper;
  MatrixUnit unit = MatrixUnit::Mma;
  Element a = Element::F16;
  Element b = Element::F16;
  bool is_half_output = false;
  u32 depth = 16;  // products of one output
};
SumRule sum_rule(const SumRequest& request);

/// One sum of `count` products and C, one number at a time; `stride` floats from product to
/// product. This is the model itself: the vectorised one must agree with it.
struct SumTerms {
  const float* a = nullptr;
  const float* b = nullptr;
  u32 stride = 1;
  u32 count = 0;
  float c = 0;
};
float tensor_sum(const SumTerms& terms, const SumRule& rule);
/// What an ordinary add makes of C and a sum that started at zero.
float add_rounded(float c, float sum, const SumRule& rule);

/// The tensor core of the chips that take this module: the least target of its family.
TensorCore tensor_core_of(const ir::Module& module);

}  // namespace pyptx::emu
