// SPDX-License-Identifier: Apache-2.0
//
// The 64-bit shared-memory matrix descriptor of wgmma (PTX ISA, "Matrix Descriptor Format"). The
// builder writes descriptors, the emulator reads them: one definition. That of tcgen05 is in
// tcgen05_descriptor.h.
#pragma once

#include <cstdint>

#include "pyptx/layout/swizzle.h"

namespace pyptx::layout {

enum class Major : std::uint8_t { K = 0, MN = 1 };

/// The two-bit layout type of a wgmma descriptor.
enum class LayoutType : std::uint8_t { Interleave = 0, B128 = 1, B64 = 2, B32 = 3 };

constexpr LayoutType layout_type(Swizzle swizzle) {
  switch (swizzle) {
    case Swizzle::None:
      return LayoutType::Interleave;
    case Swizzle::B32:
      return LayoutType::B32;
    case Swizzle::B64:
      return LayoutType::B64;
    case Swizzle::B128:
      return LayoutType::B128;
  }
  return LayoutType::Interleave;
}
constexpr Swizzle swizzle_of(LayoutType type) {
  return static_cast<Swizzle>((4U - static_cast<std::uint32_t>(type)) & 3U);
}

struct MatrixDescriptor {
  std::uint32_t start = 0;          // shared address, bytes
  std::uint32_t leading_bytes = 0;  // LBO
  std::uint32_t stride_bytes = 0;   // SBO
  std::uint8_t base_offset = 0;     // 0..7
  LayoutType type = LayoutType::Interleave;

  constexpr std::uint64_t encode() const {
    const auto field = [](std::uint32_t bytes) {
      return static_cast<std::uint64_t>((bytes & 0x3FFFFU) >> 4);
    };
    return field(start) | field(leading_bytes) << 16 | field(stride_bytes) << 32 |
           static_cast<std::uint64_t>(base_offset & 7U) << 49 |
           static_cast<std::uint64_t>(type) << 62;
  }
  static constexpr MatrixDescriptor decode(std::uint64_t bits) {
    const auto field = [bits](unsigned shift) {
      return static_cast<std::uint32_t>((bits >> shift) & 0x3FFFU) << 4;
    };
    return {field(0), field(16), field(32), static_cast<std::uint8_t>((bits >> 49) & 7U),
            static_cast<LayoutType>(bits >> 62)};
  }

  /// Shared address of the 16-byte-aligned chunk that holds element (mn, k) of the operand, plus
  /// the element's byte inside it; `element_bytes` is 1, 2 or 4. The canonical layouts of the
  /// manual, K-major and MN-major, with the swizzle applied to the absolute address.
  std::uint32_t address(Major major, std::uint32_t element_bytes, std::uint32_t mn,
                        std::uint32_t k) const;
};

}  // namespace pyptx::layout
