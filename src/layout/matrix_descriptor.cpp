// SPDX-License-Identifier: Apache-2.0
//
// The canonical layouts of wgmma operands (PTX ISA, "Strides" and "Canonical Layouts" under
// "Shared Memory Matrix Layout"): which shared byte a descriptor names for element (mn, k). With T
// elements to 16 bytes and byte strides LBO and SBO the manual gives
//   K-major,  none:     ((8,m),(T,2k)) : ((1T,SBO),(1,LBO))
//   K-major,  swizzled: ((8,m),(T,2k)) : ((wT,SBO),(1,T))            w = 2, 4, 8
//   MN-major, none:     ((T,1,m),(8,k)) : ((1,T,SBO),(1T,LBO))
//   MN-major, swizzled: ((T,w,m),(8,k)) : ((1,T,LBO),(wT,SBO))
// LBO and SBO change roles between the last two. Stateless; no memory is touched here.
#include "pyptx/layout/matrix_descriptor.h"

namespace pyptx::layout {
namespace {

/// Bytes from the descriptor's start to the element, before the swizzle.
std::uint32_t linear_offset(const MatrixDescriptor& d, Major major, std::uint32_t element_bytes,
                            std::uint32_t mn, std::uint32_t k) {
  const Swizzle swizzle = swizzle_of(d.type);
  const std::uint32_t span = swizzle_span(swizzle);
  if (major == Major::K) {
    const std::uint32_t byte = k * element_bytes;
    const std::uint32_t chunk = swizzle == Swizzle::None ? d.leading_bytes : 16U;
    return (mn % 8) * span + (mn / 8) * d.stride_bytes + byte % 16 + (byte / 16) * chunk;
  }
  const std::uint32_t byte = mn * element_bytes;
  const std::uint32_t block = swizzle == Swizzle::None ? d.stride_bytes : d.leading_bytes;
  const std::uint32_t group = swizzle == Swizzle::None ? d.leading_bytes : d.stride_bytes;
  return byte % span + (byte / span) * block + (k % 8) * span + (k / 8) * group;
}

}  // namespace

std::uint32_t MatrixDescriptor::address(Major major, std::uint32_t element_bytes, std::uint32_t mn,
                                        std::uint32_t k) const {
  const std::uint32_t linear = start + linear_offset(*this, major, element_bytes, mn, k);
  // A pattern that starts off its alignment begins `base_offset` lines of 128 bytes late.
  const std::uint32_t anchored = linear - (std::uint32_t{base_offset} << 7);
  return linear ^ (apply_swizzle(swizzle_of(type), anchored) ^ anchored);
}

}  // namespace pyptx::layout
