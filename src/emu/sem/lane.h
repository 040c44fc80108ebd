// SPDX-License-Identifier: Apache-2.0
//
// One lane of a register as 64 bits: what the handlers that work lane by lane read and write.
#pragma once

#include "sem/lanes.h"

namespace pyptx::emu {

/// bytes: of the register's lanes, 4 or 8.
inline u64 read_lane(Warp& warp, u32 offset, u32 bytes, u32 lane) {
  return bytes == 8 ? warp.lanes64(offset)[lane] : warp.lanes32(offset)[lane];
}

inline void write_lane(Warp& warp, u32 offset, u32 bytes, u32 lane, u64 value) {
  if (bytes == 8) {
    warp.lanes64(offset)[lane] = value;
  } else {
    warp.lanes32(offset)[lane] = static_cast<u32>(value);
  }
}

/// The low `bits` of a value.
inline u64 low_bits(u64 value, u32 bits) {
  return bits >= 64 ? value : value & ((1ULL << bits) - 1);
}

/// The low `bits` of a value as a signed number.
inline i64 sign_extended(u64 value, u32 bits) {
  return bits >= 64 ? static_cast<i64>(value)
                    : static_cast<i64>(value << (64 - bits)) >> (64 - bits);
}

}  // namespace pyptx::emu
