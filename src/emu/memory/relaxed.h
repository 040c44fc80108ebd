// SPDX-License-Identifier: Apache-2.0
//
// Global memory, which clusters on several host threads share. A kernel may race there (two CTAs
// store the same flag; one polls while another writes): that must not be a data race of the
// emulator, so every access is made of relaxed atomics, none wider than the alignment allows.
#pragma once

#include <cstring>

#include "decode/program.h"

namespace pyptx::emu {

/// T: an unsigned or signed integer of 1 to 8 bytes; `from` is aligned to it.
template <typename T>
inline T load_relaxed(const std::byte* from) {
  return __atomic_load_n(reinterpret_cast<const T*>(from), __ATOMIC_RELAXED);
}
template <typename T>
inline void store_relaxed(std::byte* to, T value) {
  __atomic_store_n(reinterpret_cast<T*>(to), value, __ATOMIC_RELAXED);
}

namespace detail {

/// Calls one(at, T) for pieces of [begin, begin + bytes), 8 bytes each where that is aligned.
template <typename F>
inline void each_piece(u64 begin, u64 bytes, F&& one) {
  u64 at = 0;
  while (at < bytes && ((begin + at) & 7U) != 0) {
    const u64 left = bytes - at;
    if (left >= 4 && ((begin + at) & 3U) == 0) {
      one(at, u32{});
      at += 4;
    } else if (left >= 2 && ((begin + at) & 1U) == 0) {
      one(at, u16{});
      at += 2;
    } else {
      one(at, u8{});
      at += 1;
    }
  }
  for (; at + 8 <= bytes; at += 8) one(at, u64{});
  if (at + 4 <= bytes) {
    one(at, u32{});
    at += 4;
  }
  if (at + 2 <= bytes) {
    one(at, u16{});
    at += 2;
  }
  if (at < bytes) one(at, u8{});
}

}  // namespace detail

/// From global memory to memory of this thread.
inline void copy_from_global(std::byte* to, const std::byte* from, u64 bytes) {
  detail::each_piece(reinterpret_cast<u64>(from), bytes, [&](u64 at, auto piece) {
    piece = load_relaxed<decltype(piece)>(from + at);
    std::memcpy(to + at, &piece, sizeof(piece));
  });
}

/// From memory of this thread to global memory.
inline void copy_to_global(std::byte* to, const std::byte* from, u64 bytes) {
  detail::each_piece(reinterpret_cast<u64>(to), bytes, [&](u64 at, auto piece) {
    std::memcpy(&piece, from + at, sizeof(piece));
    store_relaxed(to + at, piece);
  });
}

}  // namespace pyptx::emu
