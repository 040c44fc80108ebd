// SPDX-License-Identifier: Apache-2.0
//
// The 64-bit shared-memory matrix descriptor of wgmma (PTX ISA, "Matrix Descriptor Format"). The
// builder writes descriptors, the emulator reads them: one definition. That of tcgen05 is in
// tcgen05_descriptor.h.
#pragma once

#include <cstdint>

#include "pyptx/layout/swizzle.h"

namespace pyptx::layout {

/// The direction in which elements are contiguous.
enum class Major : std::uint8_t { K = 0, MN = 1 };

/// The two-bit layout type of a wgmma descriptor.
enum class LayoutType : std::uint8_t { Interleave = 0, B128 = 1, B64 = 2, B32 = 3 };

/// What a descriptor calls a swizzle, and back.
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

// The canonical layouts of operands of wgmma and tcgen05 (PTX ISA, "Strides" and "Canonical
// Layouts" under "Shared Memory Matrix Layout"): which shared byte a descriptor names for element
// (mn, k). With T elements to 16 bytes and byte strides LBO and SBO the manual gives
//   K-major,  none:     ((8,m),(T,2k)) : ((1T,SBO),(1,LBO))
//   K-major,  swizzled: ((8,m),(T,2k)) : ((wT,SBO),(1,T))            w = 2, 4, 8
//   MN-major, none:     ((T,1,m),(8,k)) : ((1,T,SBO),(1T,LBO))
//   MN-major, swizzled: ((T,w,m),(8,k)) : ((1,T,LBO),(wT,SBO))
// LBO and SBO change roles between the last two.
/// The two distances of a descriptor.
struct TileStrides {
  std::uint32_t span = 16;  // bytes of a row of the swizzle
  std::uint32_t leading_bytes = 0;
  std::uint32_t stride_bytes = 0;
  std::uint32_t k_group = 8;  // rows along K of one MN-major pattern

  /// Bytes from the start to the element, before the swizzle.
  constexpr std::uint32_t offset(Major major, std::uint32_t element_bytes, std::uint32_t mn,
                                 std::uint32_t k) const {
    const bool is_plain = span == 16;
    if (major == Major::K) {
      const std::uint32_t byte = k * element_bytes;
      const std::uint32_t chunk = is_plain ? leading_bytes : 16U;
      return (mn % 8) * span + (mn / 8) * stride_bytes + byte % 16 + (byte / 16) * chunk;
    }
    const std::uint32_t byte = mn * element_bytes;
    const std::uint32_t block = is_plain ? stride_bytes : leading_bytes;
    const std::uint32_t group = is_plain ? leading_bytes : stride_bytes;
    return byte % span + (byte / span) * block + (k % k_group) * span + (k / k_group) * group;
  }
};

/// The fields of a descriptor.
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
  constexpr std::uint32_t address(Major major, std::uint32_t element_bytes, std::uint32_t mn,
                                  std::uint32_t k) const {
    const TileStrides strides{swizzle_span(swizzle_of(type)), leading_bytes, stride_bytes};
    const std::uint32_t linear = start + strides.offset(major, element_bytes, mn, k);
    // A pattern that starts off its alignment begins `base_offset` lines of 128 bytes late.
    const std::uint32_t anchored = linear - (std::uint32_t{base_offset} << 7);
    return linear ^ (apply_swizzle(swizzle_of(type), anchored) ^ anchored);
  }
};

}  // namespace pyptx::layout
