// SPDX-License-Identifier: Apache-2.0
//
// wgmma's matrix descriptors. PTX ISA, "Matrix Descriptor Format".
#include <string>

#include "arguments.h"
#include "matrix_descriptor.h"
#include "pyptx/build/wgmma.h"
#include "pyptx/support/concat.h"

namespace pyptx::build::wgmma {
namespace {

constexpr std::int64_t kFieldLimit = 0x3FFFF & ~0xF;

bool check_offset(Tracer& tracer, std::int64_t bytes, const Argument& what) {
  if (bytes >= 0 && bytes <= kFieldLimit && bytes % 16 == 0) return true;
  return refuse(tracer, what, support::concat("a multiple of 16 within 0 to ", kFieldLimit),
                std::to_string(bytes));
}

}  // namespace

Reg make_descriptor(Tracer& tracer, const SharedPlace& place, const DescriptorFields& fields) {
  const Expansion here(tracer, "ptx.wgmma.make_descriptor(...)");
  if (!check_offset(tracer, fields.leading_bytes, "leading_byte_offset") ||
      !check_offset(tracer, fields.stride_bytes, "stride_byte_offset") ||
      !check_range(tracer, "base_offset", fields.base_offset, 0, 7)) {
    return {};
  }
  const layout::MatrixDescriptor constant{0, static_cast<std::uint32_t>(fields.leading_bytes),
                                          static_cast<std::uint32_t>(fields.stride_bytes),
                                          static_cast<std::uint8_t>(fields.base_offset),
                                          fields.type};
  return encoded_descriptor(tracer, place, constant.encode());
}

Reg masked_descriptor(Tracer& tracer, const SharedPlace& place, std::int64_t byte_offset,
                      std::int64_t mask, std::uint64_t const_bits) {
  const Expansion here(tracer, "ptx.wgmma.masked_descriptor(...)");
  return build::masked_descriptor(tracer, place, byte_offset, mask, const_bits);
}

Reg auto_descriptor(Tracer& tracer, const SharedPlace& place, isa::Type type,
                    std::span<const std::uint64_t> shape, layout::Major major,
                    std::optional<layout::Swizzle> swizzle, std::uint32_t k,
                    TileParameters parameters) {
  const Expansion here(tracer, "ptx.wgmma.auto_descriptor(...)");
  const auto tile = canonical_tile(tracer, type, shape, major, swizzle, k, false, parameters);
  if (!tile) return {};
  return make_descriptor(
      tracer, place.plus(tile->advance),
      {tile->layout.leading_bytes, tile->layout.stride_bytes, tile->layout.type(), 0});
}

}  // namespace pyptx::build::wgmma
