// SPDX-License-Identifier: Apache-2.0
//
// Reductions of the asynchronous proxy (PTX ISA, "cp.reduce.async.bulk", "red.async"): element by
// element, memory = memory op operand.
#pragma once

#include "decode/types.h"

namespace pyptx::emu {

enum class ReduceOp : u8 { None, Add, Min, Max, Inc, Dec, And, Or, Xor };

/// Which operation a word of the instruction names; None: it is not one.
ReduceOp reduce_op(std::string_view word);
/// Whether elements of `type` can be combined by `op`.
bool can_reduce(ReduceOp op, Ty type);
/// Combines `bytes` bytes of elements; `keeps_subnormals` is .noftz.
void reduce(ReduceOp op, Ty type, bool keeps_subnormals, std::byte* to, const std::byte* from,
            u64 bytes);

}  // namespace pyptx::emu
