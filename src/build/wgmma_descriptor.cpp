// SPDX-License-Identifier: Apache-2.0
//
// Matrix descriptors computed by instructions from a shared address. PTX ISA, "Matrix Descriptor
// Format".
#include <string>

#include "pyptx/build/wgmma.h"
#include "pyptx/support/concat.h"

namespace pyptx::build::wgmma {
namespace {

using diag::Kind;
using ir::Operand;

constexpr std::int64_t kAddressBits = 0x3FFFF;
constexpr std::int64_t kFieldLimit = 0x3FFFF & ~0xF;

bool check_offset(Tracer& tracer, std::int64_t bytes, std::string_view what) {
  if (bytes >= 0 && bytes <= kFieldLimit && bytes % 16 == 0) return true;
  tracer.report({Kind::BadArgument,
                 {std::string(what), support::concat("a multiple of 16 within 0 to ", kFieldLimit),
                  std::to_string(bytes)}});
  return false;
}

/// (word >> 4, widened) | bits
Reg encode(Tracer& tracer, Reg word, std::uint64_t bits) {
  const Reg chunk = tracer.reg(isa::Type::U32);
  const Reg wide = tracer.reg(isa::Type::U64);
  const Reg result = tracer.reg(isa::Type::B64);
  tracer.emit("shr.u32", {chunk, word, Operand::integer(4)});
  tracer.emit("cvt.u64.u32", {wide, chunk});
  tracer.emit("or.b64", {result, wide, Operand::integer(static_cast<std::int64_t>(bits))});
  return result;
}

}  // namespace

Reg make_descriptor(Tracer& tracer, const SharedPlace& place, const DescriptorFields& fields) {
  if (!check_offset(tracer, fields.leading_bytes, "leading_byte_offset") ||
      !check_offset(tracer, fields.stride_bytes, "stride_byte_offset")) {
    return {};
  }
  if (fields.base_offset < 0 || fields.base_offset > 7) {
    tracer.report(
        {Kind::BadArgument, {"base_offset", "0 to 7", std::to_string(fields.base_offset)}});
    return {};
  }
  const layout::MatrixDescriptor constant{0, static_cast<std::uint32_t>(fields.leading_bytes),
                                          static_cast<std::uint32_t>(fields.stride_bytes),
                                          static_cast<std::uint8_t>(fields.base_offset),
                                          fields.type};
  const Reg address = address_of(tracer, place);
  const Reg low = tracer.reg(isa::Type::U32);
  tracer.emit("and.b32", {low, address, Operand::integer(kAddressBits)});
  return encode(tracer, low, constant.encode());
}

Reg masked_descriptor(Tracer& tracer, const SharedPlace& place, std::int64_t byte_offset,
                      std::int64_t mask, std::uint64_t const_bits) {
  if (mask < 0 || mask > kAddressBits) {
    tracer.report({Kind::BadArgument,
                   {"mask", support::concat("within 0 to ", kAddressBits), std::to_string(mask)}});
    return {};
  }
  if (!check_offset(tracer, byte_offset, "byte_offset")) return {};
  const Reg address = address_of(tracer, place);
  const Reg low = tracer.reg(isa::Type::U32);
  tracer.emit("and.b32", {low, address, Operand::integer(mask)});
  if (byte_offset == 0) return encode(tracer, low, const_bits);
  const Reg moved = tracer.reg(isa::Type::U32);
  tracer.emit("add.u32", {moved, low, Operand::integer(byte_offset)});
  return encode(tracer, moved, const_bits);
}

Reg auto_descriptor(Tracer& tracer, const SharedPlace& place, isa::Type type,
                    std::span<const std::uint64_t> shape, layout::Major major,
                    std::optional<layout::Swizzle> swizzle, std::uint32_t k) {
  if (shape.size() != 2) {
    tracer.report({Kind::MatrixLayout,
                   {"a matrix descriptor",
                    support::concat("a tile has two dimensions, got ", shape.size())}});
    return {};
  }
  const bool is_k = major == layout::Major::K;
  const auto rows = static_cast<std::uint32_t>(shape[0]);
  const auto columns = static_cast<std::uint32_t>(shape[1]);
  const layout::OperandTile tile{isa::info(type).bits / 8U, is_k ? rows : columns,
                                 is_k ? columns : rows, major};
  const auto picked =
      swizzle ? layout::canonical_layout(tile, *swizzle) : layout::pick_layout(tile);
  if (!picked) {
    tracer.report({Kind::MatrixLayout, {"a matrix descriptor", picked.error()}});
    return {};
  }
  if (k % layout::wgmma_k(tile.element_bytes) != 0 || k >= tile.k) {
    tracer.report({Kind::BadArgument,
                   {"the k offset",
                    support::concat("a multiple of ", layout::wgmma_k(tile.element_bytes),
                                    " below the tile's ", tile.k),
                    std::to_string(k)}});
    return {};
  }
  const std::uint32_t advance = layout::k_advance(tile, picked->swizzle, k);
  return make_descriptor(tracer, place.plus(advance),
                         {picked->leading_bytes, picked->stride_bytes, picked->type(), 0});
}

}  // namespace pyptx::build::wgmma
