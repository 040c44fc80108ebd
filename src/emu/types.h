// SPDX-License-Identifier: Apache-2.0
//
// The value types that handlers are chosen by. A closed list: a PTX type outside it cannot run.
#pragma once

#include <string_view>

#include "program.h"

namespace pyptx::emu {

enum class Ty : u8 {
  None,
  Pred,
  B8,
  B16,
  B32,
  B64,
  B128,
  U8,
  U16,
  U32,
  U64,
  S8,
  S16,
  S32,
  S64,
  F16,
  F16x2,
  BF16,
  BF16x2,
  TF32,
  F32,
  F32x2,
  F64,
  E4M3,
  E5M2,
  E4M3x2,
  E5M2x2,
  U16x2,
  S16x2,
  U8x4,
  S8x4,
  U4,
  S4,
  U2,
  S2,
  E3M2x2,
  E2M3x2,
  E2M1x2,
  UE8M0x2,
  UE5M3x2,
  S2F6x2,
  E4M3x4,
  E5M2x4,
  E3M2x4,
  E2M3x4,
  E2M1x4,
  E2M1P4x4,
  UE8M0x4,
};

struct TyInfo {
  std::string_view name;
  u16 bits = 0;
  char kind = 0;  // 'b' 'u' 's' 'f' 'p'
};

const TyInfo& info(Ty type);
/// None for a type that no handler knows.
Ty find_ty(std::string_view name);

inline u32 bytes_of(Ty type) { return info(type).bits / 8U; }
inline bool is_float(Ty type) { return info(type).kind == 'f'; }
inline bool is_signed(Ty type) { return info(type).kind == 's'; }
/// Bytes per lane of the register that holds it: 4, 8, 16; 0 for a predicate.
inline u32 lane_bytes(u32 bits) { return bits == 1 ? 0 : bits <= 32 ? 4 : bits <= 64 ? 8 : 16; }

}  // namespace pyptx::emu
