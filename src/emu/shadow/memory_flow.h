// SPDX-License-Identifier: Apache-2.0
//
// What has no value on its way between registers and memory, and through wgmma.
#pragma once

#include "shadow/flow.h"
#include "shadow/shadow.h"

namespace pyptx::emu {

/// Where the value of a register that is read at `pc` was born.
Birth read_birth(Warp& warp, u32 id, u32 pc);

Step carry_load(Warp& warp, const Inst& inst, const Flow& flow, u32 mask);
Step carry_store(Warp& warp, const Inst& inst, const Flow& flow, u32 mask);
Step carry_load_matrix(Warp& warp, const Inst& inst, const Flow& flow, u32 mask);
Step carry_store_matrix(Warp& warp, const Inst& inst, const Flow& flow, u32 mask);
Step carry_product(Warp& warp, const Inst& inst, const Flow& flow, u32 mask);

}  // namespace pyptx::emu
