// SPDX-License-Identifier: Apache-2.0
//
// How a handler sees its operands: 32 raw lanes of 32 or 64 bits, read as a C++ type. Values of 8
// and 16 bits lie zero-extended in 32-bit lanes. The loops are plain so that the compiler
// vectorises them; the whole-warp case has no mask in it.
#pragma once

#include <bit>
#include <cstring>
#include <type_traits>

#include "machine/warp.h"

#if defined(__clang__)
// A loop that cannot be vectorised (a division, a branch) stays a loop: no warning about it.
#pragma clang diagnostic ignored "-Wpass-failed"
#define PYPTX_EACH_LANE \
  _Pragma("clang loop vectorize(assume_safety)") for (u32 i = 0; i < kLanes; ++i)
#elif defined(__GNUC__)
#define PYPTX_EACH_LANE _Pragma("GCC ivdep") for (u32 i = 0; i < kLanes; ++i)
#else
#define PYPTX_EACH_LANE for (u32 i = 0; i < kLanes; ++i)
#endif

namespace pyptx::emu {

template <typename T>
using Raw = std::conditional_t<(sizeof(T) > 4), u64, u32>;

template <typename T>
inline T from_raw(Raw<T> raw) {
  if constexpr (sizeof(T) == sizeof(Raw<T>)) {
    return std::bit_cast<T>(raw);
  } else if constexpr (sizeof(T) == 2) {
    return std::bit_cast<T>(static_cast<u16>(raw));
  } else {
    return std::bit_cast<T>(static_cast<u8>(raw));
  }
}

template <typename T>
inline Raw<T> to_raw(T value) {
  if constexpr (sizeof(T) == sizeof(Raw<T>)) {
    return std::bit_cast<Raw<T>>(value);
  } else if constexpr (sizeof(T) == 2) {
    return std::bit_cast<u16>(value);
  } else {
    return std::bit_cast<u8>(value);
  }
}

template <typename T>
inline Raw<T>* lanes_of(Warp& warp, u32 offset) {
  return reinterpret_cast<Raw<T>*>(warp.registers + offset);
}

template <typename F>
inline void each_active(u32 mask, F&& body) {
  for (u32 rest = mask; rest != 0; rest &= rest - 1) body(Warp::first_lane(rest));
}

#include "sem/lanes_map.inc"

}  // namespace pyptx::emu
