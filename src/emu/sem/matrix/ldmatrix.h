// SPDX-License-Identifier: Apache-2.0
//
// What the matrix moves share.
#pragma once

#include "decode/lowering.h"
#include "machine/warp.h"

namespace pyptx::emu {

/// The 16 bytes of each row, whose addresses the first `count` lanes give.
bool matrix_rows(Warp& warp, const Inst& inst, u32 count, bool is_write, std::byte* (&at)[kLanes]);
/// ldmatrix and stmatrix of elements that are bytes in registers.
Handler byte_matrix_handler(Lowering& low, bool is_load);

}  // namespace pyptx::emu
