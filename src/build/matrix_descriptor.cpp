// SPDX-License-Identifier: Apache-2.0
//
// Matrix descriptors computed by instructions from a shared address. PTX ISA, "Matrix Descriptor
// Format" of wgmma, "Shared memory descriptor" of tcgen05.
#include "matrix_descriptor.h"

#include "arguments.h"
#include "pyptx/support/concat.h"

namespace pyptx::build {
namespace {

using diag::Kind;
using ir::Operand;
using support::concat;

constexpr std::int64_t kAddressBits = 0x3FFFF;

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

Reg masked(Tracer& tracer, const SharedPlace& place, std::int64_t mask) {
  const Reg address = address_of(tracer, place);
  const Reg low = tracer.reg(isa::Type::U32);
  tracer.emit("and.b32", {low, address, Operand::integer(mask)});
  return low;
}

}  // namespace

Reg encoded_descriptor(Tracer& tracer, const SharedPlace& place, std::uint64_t bits) {
  // The field counts units of 16 bytes: what is left over would be lost.
  if (!check_place(tracer, place, 16,
                   {"a matrix descriptor", "addr_byte_offset|byte_offset|base|addr"}))
    return {};
  return encode(tracer, masked(tracer, place, kAddressBits), bits);
}

Reg masked_descriptor(Tracer& tracer, const SharedPlace& place, std::int64_t byte_offset,
                      std::int64_t mask, std::uint64_t bits) {
  if (!check_range(tracer, "mask", mask, 0, kAddressBits)) return {};
  constexpr std::int64_t kLargest = kAddressBits & ~0xF;
  if (byte_offset < 0 || byte_offset > kLargest || byte_offset % 16 != 0) {
    refuse(tracer, "byte_offset", concat("a multiple of 16 within 0 to ", kLargest),
           std::to_string(byte_offset));
    return {};
  }
  const Reg low = masked(tracer, place, mask);
  if (byte_offset == 0) return encode(tracer, low, bits);
  const Reg moved = tracer.reg(isa::Type::U32);
  tracer.emit("add.u32", {moved, low, Operand::integer(byte_offset)});
  return encode(tracer, moved, bits);
}

bool check_tile(Tracer& tracer, const SharedView& view, const TileUse& use) {
  const auto fail = [&](std::string problem) {
    tracer.report(
        diag::Diagnostic(Kind::MatrixLayout, {std::string(use.instruction), std::move(problem)})
            .about(use.parameters().tile));
    return false;
  };
  if (use.k < 0) {
    return refuse(tracer, {"the k offset", use.parameters().k_offset}, "0 or more",
                  std::to_string(use.k));
  }
  const bool is_k = use.major == layout::Major::K;
  const auto rows = static_cast<std::int64_t>(view.rows());
  const auto columns = static_cast<std::int64_t>(view.columns());
  const std::int64_t mn = is_k ? rows : columns;
  const std::int64_t depth = is_k ? columns : rows;
  if (mn < use.mn) {
    return fail(concat("'", view.name, "' has ", mn, " rows of ", use.what, ", the product takes ",
                       use.mn));
  }
  if (use.k + use.columns > depth) {
    return fail(concat("'", view.name, "' has ", depth, " columns of K, the product takes ",
                       use.columns, " from ", use.k, " on"));
  }
  return true;
}

std::optional<CanonicalTile> canonical_tile(Tracer& tracer, isa::Type type,
                                            std::span<const std::uint64_t> shape,
                                            layout::Major major,
                                            std::optional<layout::Swizzle> swizzle, std::uint32_t k,
                                            bool byte_mn, TileParameters parameters) {
  if (shape.size() != 2) {
    tracer.report(diag::Diagnostic(Kind::MatrixLayout,
                                   {"a matrix descriptor",
                                    concat("a tile has two dimensions, got ", shape.size())})
                      .about(parameters.tile));
    return std::nullopt;
  }
  const bool is_k = major == layout::Major::K;
  const auto rows = static_cast<std::uint32_t>(shape[0]);
  const auto columns = static_cast<std::uint32_t>(shape[1]);
  const layout::OperandTile tile{isa::info(type).bits / 8U, is_k ? rows : columns,
                                 is_k ? columns : rows, major, byte_mn};
  const auto picked =
      swizzle ? layout::canonical_layout(tile, *swizzle) : layout::pick_layout(tile);
  if (!picked) {
    tracer.report(diag::Diagnostic(Kind::MatrixLayout, {"a matrix descriptor", picked.error()})
                      .about(parameters.tile));
    return std::nullopt;
  }
  const std::uint32_t step = layout::wgmma_k(tile.element_bytes);
  if (k % step != 0 || k >= tile.k) {
    refuse(tracer, {"the k offset", parameters.k_offset},
           concat("a multiple of ", step, " below the tile's ", tile.k), std::to_string(k));
    return std::nullopt;
  }
  return CanonicalTile{*picked, layout::k_advance(tile, picked->swizzle, k)};
}

}  // namespace pyptx::build
