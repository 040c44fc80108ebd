// SPDX-License-Identifier: Apache-2.0
//
// The value types that handlers are chosen by, while a program is decoded. They are those of
// isa/common/types.toml: a selector refuses one that it has no handler for.
#pragma once

#include "decode/program.h"
#include "pyptx/isa/type.h"

namespace pyptx::emu {

using Ty = isa::Type;
using isa::info;
using isa::TypeKind;

// An instruction keeps the type that its handler asks for in a byte.
static_assert(isa::kTypeCount <= 256);

inline u32 bytes_of(Ty type) { return info(type).bits / 8U; }
inline bool is_float(Ty type) { return info(type).kind == TypeKind::Float; }
inline bool is_signed(Ty type) { return info(type).kind == TypeKind::Signed; }
inline bool is_unsigned(Ty type) { return info(type).kind == TypeKind::Unsigned; }
/// Bytes per lane of the register that holds it: 4, 8, 16; 0 for a predicate.
inline u32 lane_bytes(u32 bits) { return bits == 1 ? 0 : bits <= 32 ? 4 : bits <= 64 ? 8 : 16; }

}  // namespace pyptx::emu
