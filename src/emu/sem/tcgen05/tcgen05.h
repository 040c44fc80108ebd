// SPDX-License-Identifier: Apache-2.0
//
// What the tcgen05 instructions share.
#pragma once

#include <optional>
#include <string>

#include "decode/lowering.h"
#include "memory/memory.h"
#include "memory/tensor_memory.h"

namespace pyptx::emu {

/// Lanes of tensor memory by 16, as bits, of columns in a row: what one access touches in a CTA.
struct TensorRegion {
  Cta* cta = nullptr;
  u32 halves = 0;  // bit i: lanes 16 i to 16 i + 15
  u32 first = 0;
  u32 columns = 0;
};

/// Consumes .cta_group::N; nothing when the kernel's other instructions have another one, which the
/// manual forbids.
std::optional<u32> take_cta_group(Lowering& low);
/// The other CTA of the pair; null with the fault recorded.
Cta* peer_of(Warp& warp, const Inst& inst);
Step refuse_tensor(Warp& warp, const Inst& inst, diag::Kind kind, const std::string& why);
/// The same with a place: "lane 0, column 32".
Step refuse_place(Warp& warp, const Inst& inst, diag::Kind kind, const TensorAddress& at,
                  const std::string& why);
/// Next when all lanes are here and read the same from `offset`.
Step same_value(Warp& warp, const Inst& inst, u32 offset, std::string_view name);

}  // namespace pyptx::emu
