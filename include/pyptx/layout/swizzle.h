// SPDX-License-Identifier: Apache-2.0
//
// The shared-memory swizzles of TMA and the matrix instructions: an XOR of address bits 4.. with
// bits 7.. (PTX ISA, "Swizzling Modes"). The pattern is anchored at absolute shared addresses.
#pragma once

#include <cstdint>

namespace pyptx::layout {

/// The patterns by which rows are permuted, by the bytes of their span.
enum class Swizzle : std::uint8_t { None, B32, B64, B128 };

/// Bytes of one row of the pattern: 16 (none), 32, 64, 128.
constexpr std::uint32_t swizzle_span(Swizzle swizzle) {
  return 16U << static_cast<std::uint32_t>(swizzle);
}

/// Bytes after which the pattern repeats, and to which a tile must be aligned: 16, 256, 512, 1024.
constexpr std::uint32_t swizzle_period(Swizzle swizzle) {
  return swizzle == Swizzle::None ? 16U : 128U << static_cast<std::uint32_t>(swizzle);
}

/// Where the byte at unswizzled shared address `address` lies.
constexpr std::uint32_t apply_swizzle(Swizzle swizzle, std::uint32_t address) {
  const std::uint32_t bits = (1U << static_cast<std::uint32_t>(swizzle)) - 1U;  // 0, 1, 3, 7
  return address ^ (((address >> 7) & bits) << 4);
}

}  // namespace pyptx::layout
