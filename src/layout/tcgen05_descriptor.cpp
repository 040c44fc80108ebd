// SPDX-License-Identifier: Apache-2.0
//
// The bits of tcgen05's descriptors. PTX ISA, "Shared memory descriptor", "Zero-Column Mask
// Descriptor", "Data Path Layout Organization". The instruction descriptor is in
// tcgen05_instruction.cpp.
#include "pyptx/layout/tcgen05_descriptor.h"

#include "pyptx/support/concat.h"

namespace pyptx::layout {
namespace {

using support::concat;

constexpr std::uint32_t kFieldLimit = 0x3FFFU << 4;
constexpr std::uint64_t kConstant = std::uint64_t{1} << 46;  // bits 46 to 48: 0b001

std::uint64_t field(std::uint32_t bytes) { return (bytes & 0x3FFFFU) >> 4; }

bool is_encodable(std::uint32_t bytes) { return bytes % 16 == 0 && bytes <= kFieldLimit; }

/// That of TMA and wgmma which has rows as wide.
Swizzle plain(Tcgen05Swizzle swizzle) {
  switch (swizzle) {
    case Tcgen05Swizzle::B128Atom32:
    case Tcgen05Swizzle::B128:
      return Swizzle::B128;
    case Tcgen05Swizzle::B64:
      return Swizzle::B64;
    case Tcgen05Swizzle::B32:
      return Swizzle::B32;
    case Tcgen05Swizzle::None:
      break;
  }
  return Swizzle::None;
}

}  // namespace

std::uint32_t swizzle_span(Tcgen05Swizzle swizzle) { return swizzle_span(plain(swizzle)); }

std::uint32_t apply_swizzle(Tcgen05Swizzle swizzle, std::uint32_t address) {
  // Units of 32 bytes: bits 5 and 6 turn with the row.
  if (swizzle == Tcgen05Swizzle::B128Atom32) return address ^ (((address >> 7) & 3U) << 5);
  return apply_swizzle(plain(swizzle), address);
}

std::uint64_t Tcgen05MatrixDescriptor::encode() const {
  return field(start) | field(leading_bytes) << 16 | field(stride_bytes) << 32 | kConstant |
         std::uint64_t{base_offset & 7U} << 49 | std::uint64_t{leading_is_address ? 1U : 0U} << 52 |
         static_cast<std::uint64_t>(swizzle) << 61;
}

Tcgen05MatrixDescriptor Tcgen05MatrixDescriptor::decode(std::uint64_t bits) {
  const auto bytes = [bits](unsigned shift) {
    return static_cast<std::uint32_t>((bits >> shift) & 0x3FFFU) << 4;
  };
  return {bytes(0),
          bytes(16),
          bytes(32),
          static_cast<std::uint8_t>((bits >> 49) & 7U),
          ((bits >> 52) & 1U) != 0,
          static_cast<Tcgen05Swizzle>(bits >> 61)};
}

std::optional<std::string> Tcgen05MatrixDescriptor::problem() const {
  if (!is_encodable(start)) {
    return concat("the matrix begins at byte ", start, ", a descriptor reaches multiples of 16 to ",
                  kFieldLimit);
  }
  if (!is_encodable(leading_bytes) || !is_encodable(stride_bytes)) {
    const std::uint32_t wrong = is_encodable(leading_bytes) ? stride_bytes : leading_bytes;
    return concat("the ", is_encodable(leading_bytes) ? "stride" : "leading", " offset is ", wrong,
                  " bytes, a descriptor reaches multiples of 16 to ", kFieldLimit);
  }
  if (base_offset > 7) return concat("the base offset is ", int{base_offset}, ", the limit is 7");
  const auto mode = static_cast<std::uint32_t>(swizzle);
  if (mode > 6 || mode == 3 || mode == 5) return concat("there is no swizzle mode ", mode);
  if (leading_is_address && (swizzle != Tcgen05Swizzle::B128 || base_offset != 0)) {
    return "an absolute leading address goes with the 128 B swizzle and a base offset of 0 only";
  }
  return std::nullopt;
}

std::uint32_t Tcgen05MatrixDescriptor::address(Major major, std::uint32_t element_bytes,
                                               std::uint32_t mn, std::uint32_t k) const {
  // In units of 32 bytes, four rows make a pattern.
  const std::uint32_t k_group = swizzle == Tcgen05Swizzle::B128Atom32 ? 4 : 8;
  const TileStrides strides{swizzle_span(swizzle), leading_bytes, stride_bytes, k_group};
  const std::uint32_t linear = start + strides.offset(major, element_bytes, mn, k);
  // A pattern that starts off its alignment begins `base_offset` lines of 128 bytes late.
  const std::uint32_t anchored = linear - (std::uint32_t{base_offset} << 7);
  return linear ^ (apply_swizzle(swizzle, anchored) ^ anchored);
}

std::uint64_t ZeroColumnMask::encode() const {
  std::uint64_t bits = 0;
  for (unsigned i = 0; i < 4; ++i) {
    bits |= std::uint64_t{start_count[i]} << (8 * i);
    bits |= std::uint64_t{first_span[i] ? 1U : 0U} << (32 + i);
  }
  return bits | std::uint64_t{is_used ? 1U : 0U} << 39 |
         std::uint64_t{(skip_columns - 1) & 0xFFU} << 40 |
         std::uint64_t{(zero_columns - 1) & 0xFFU} << 48 | std::uint64_t{column_shift & 63U} << 56;
}

ZeroColumnMask ZeroColumnMask::decode(std::uint64_t bits) {
  ZeroColumnMask mask;
  for (unsigned i = 0; i < 4; ++i) {
    mask.start_count[i] = static_cast<std::uint8_t>(bits >> (8 * i));
    mask.first_span[i] = (bits >> (32 + i) & 1U) != 0;
  }
  mask.is_used = (bits >> 39 & 1U) != 0;
  mask.skip_columns = static_cast<std::uint32_t>(bits >> 40 & 0xFFU) + 1;
  mask.zero_columns = static_cast<std::uint32_t>(bits >> 48 & 0xFFU) + 1;
  mask.column_shift = static_cast<std::uint8_t>(bits >> 56 & 63U);
  return mask;
}

std::optional<std::string> ZeroColumnMask::problem() const {
  for (const std::uint32_t span : {skip_columns, zero_columns}) {
    if (span < 1 || span > 256)
      return concat("a span has ", span, " columns, the limits are 1 and 256");
  }
  if (column_shift > 32)
    return concat("the column shift is ", int{column_shift}, ", the limit is 32");
  return std::nullopt;
}

TmemPlace accumulator_place(const AccumulatorLayout& layout, std::uint32_t row,
                            std::uint32_t column) {
  const auto folded = [&](std::uint32_t rows, std::uint32_t parts) -> TmemPlace {
    const std::uint32_t width = layout.n / parts;  // a part of the columns to each run of lanes
    return {0, row % rows + rows * (column / width), column % width};
  };
  if (layout.cta_group == 2) {
    const std::uint32_t rows = layout.m / 2;  // of each CTA
    if (layout.m == 256) return {row / rows, row % rows, column};
    const std::uint32_t local = row % rows;
    if (layout.is_sparse) return {row / rows, local / 16 * 32 + local % 16, column};
    const std::uint32_t width = layout.n / 2;
    return {row / rows, local + rows * (column / width), column % width};
  }
  if (layout.m == 32) return folded(32, 4);
  if (layout.m == 64 && layout.is_ws) return folded(64, 2);
  if (layout.m == 64) return {0, row / 16 * 32 + row % 16, column};
  return {0, row, column};
}

OperandCopies operand_copies(const AccumulatorLayout& layout) {
  if (layout.cta_group == 2) {
    return layout.m == 128 && !layout.is_sparse ? OperandCopies{2, 64} : OperandCopies{};
  }
  if (!layout.is_ws || layout.m == 128) return {};
  return layout.m == 32 ? OperandCopies{4, 32} : OperandCopies{2, 64};
}

ScalePlace scale_a_place(const AccumulatorLayout& layout, std::uint32_t row) {
  const std::uint32_t local = row % (layout.m / static_cast<std::uint32_t>(layout.cta_group));
  return {0, 4, local % 32, local / 32};
}

ScalePlace scale_b_place(const AccumulatorLayout& layout, std::uint32_t column) {
  const OperandCopies parts = operand_copies(layout);
  if (parts.count == 1) return {0, 4, column % 32, column / 32};
  const std::uint32_t width = layout.n / parts.count;
  const std::uint32_t local = column % width;
  return {parts.lanes * (column / width), parts.lanes / 32, local % 32, local / 32};
}

CopyShape copy_shape(TmemCopy copy) {
  switch (copy) {
    case TmemCopy::S128x256b:
      return {128, 32, 1};
    case TmemCopy::S4x256b:
      return {4, 32, 1};
    case TmemCopy::S128x128b:
      return {128, 16, 1};
    case TmemCopy::S64x128b02:
    case TmemCopy::S64x128b01:
      return {64, 16, 2};
    case TmemCopy::S32x128b:
      return {32, 16, 4};
  }
  return {};
}

std::uint32_t copy_lane(TmemCopy copy, std::uint32_t row, std::uint32_t which) {
  switch (copy) {
    case TmemCopy::S4x256b:  // one lane of each warp's
      return row * 32;
    case TmemCopy::S64x128b02:
      return row + 64 * which;
    case TmemCopy::S64x128b01:
      return row / 32 * 64 + row % 32 + 32 * which;
    case TmemCopy::S32x128b:
      return row + 32 * which;
    default:
      return row;
  }
}

}  // namespace pyptx::layout
