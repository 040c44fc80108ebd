// SPDX-License-Identifier: Apache-2.0
//
// The handlers of mma and wmma, by kind of arithmetic. The selectors are mma_select.cpp's.
#pragma once

#include "machine/warp.h"
#include "sem/matrix/mma_form.h"

namespace pyptx::emu {

/// The form of an instruction.
const MmaForm& mma_form(const Warp& warp, const Inst& inst);
/// All lanes of the warp, which the manual wants.
Step converge_whole(Warp& warp, const Inst& inst, u32 mask);

/// Floats and integers of 4 to 32 bits, in f32 sums.
Step run_mma(Warp& warp, const Inst& inst, u32 mask);
/// The same with a sparse A.
Step run_mma_sparse(Warp& warp, const Inst& inst, u32 mask);
/// Blocks of scaled elements, dense or sparse.
Step run_mma_scaled(Warp& warp, const Inst& inst, u32 mask);
Step run_mma_bits(Warp& warp, const Inst& inst, u32 mask);
Step run_mma_double(Warp& warp, const Inst& inst, u32 mask);
/// m8n8k4 of .f16: four products.
Step run_mma_quads(Warp& warp, const Inst& inst, u32 mask);

}  // namespace pyptx::emu
