// SPDX-License-Identifier: Apache-2.0
//
// The hot elementwise families, compiled once per instruction-set variant of the host.
#pragma once

#include "decode/types.h"

namespace pyptx::emu {

class Lowering;
enum class Cmp : u8;

enum class Op : u8 {
  Add,
  Sub,
  Mul,
  MulHigh,
  MulWide,
  Mad,
  MadHigh,
  MadWide,
  Fma,
  Div,
  Rem,
  Neg,
  Abs,
  Min,
  Max,
  And,
  Or,
  Xor,
  Not,
  Shl,
  Shr,
};

/// The best variant for this processor; null where the family has no such operation.
Handler integer_handler(Op op, Ty type);
/// Round to nearest, no saturation; f32 and f64.
Handler float_handler(Op op, Ty type, bool ftz);
/// setp; no subnormals are flushed.
Handler compare_handler(Cmp cmp, Ty type);
/// selp on lanes of 4 or 8 bytes.
Handler choose_handler(u32 lane_size);
/// f32 and f64 with any rounding, saturation and flushing: one lane at a time.
Handler careful_float_handler(Lowering& low, Op op, Ty type);
/// f16, bf16, their pairs.
Handler half_handler(Lowering& low, Op op, Ty type);
/// f32x2.
Handler pair_float_handler(Lowering& low, Op op);

}  // namespace pyptx::emu
