// SPDX-License-Identifier: Apache-2.0
//
// The operations of atomics and reductions on memory, as functions of the old value: shared by
// atom, red and the asynchronous reductions.
#pragma once

#include <optional>

#include "decode/lowering.h"

namespace pyptx::emu {

enum class AtomicOp : u8 { Add, And, Or, Xor, Exch, Inc, Dec, Min, Max, Cas };

struct AtomicOperands {
  u64 old = 0;
  u64 b = 0;
  u64 c = 0;             // cas: what is stored where old == b
  bool flushes = false;  // .f32: subnormal inputs and results become zero
  bool quiets = false;   // .f64: of NaN operands the old one becomes the result, made quiet
};

/// The new value, as the bits of `type`: integers and bits of 16, 32 and 64, f16, bf16, their
/// pairs, f32, f64.
u64 apply(AtomicOp op, Ty type, const AtomicOperands& operands);
/// Consumes the operation.
std::optional<AtomicOp> take_atomic_op(Lowering& low);

}  // namespace pyptx::emu
