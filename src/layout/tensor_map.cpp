// SPDX-License-Identifier: Apache-2.0
//
// The rules of cuTensorMapEncodeTiled and cuTensorMapEncodeIm2col (CUDA driver API, "Tensor Map
// Object Management"), in words. Nothing is encoded here.
#include "pyptx/layout/tensor_map.h"

#include <algorithm>

#include "pyptx/support/concat.h"

namespace pyptx::layout {
namespace {

using Problem = std::optional<std::string>;

bool is_floating(MapType type) {
  switch (type) {
    case MapType::F16:
    case MapType::F32:
    case MapType::F64:
    case MapType::BF16:
    case MapType::F32Ftz:
    case MapType::TF32:
    case MapType::TF32Ftz:
      return true;
    default:
      return false;
  }
}

/// What addresses and strides are multiples of.
std::uint64_t alignment(const TensorMap& map) {
  return map.interleave == Interleave::B32 ? 32 : 16;
}

Problem dimension_problem(const TensorMap& map, std::size_t i) {
  constexpr std::uint64_t kMaxDim = std::uint64_t{1} << 32;
  if (map.dims[i] < 1 || map.dims[i] > kMaxDim) {
    return support::concat("dimension ", i, " has ", map.dims[i],
                           " elements, the limits are 1 and 2^32");
  }
  if (!map.is_im2col() && (map.box[i] < 1 || map.box[i] > 256)) {
    return support::concat("dimension ", i, " of the box has ", map.box[i],
                           " elements, the limits are 1 and 256");
  }
  if (map.element_strides[i] < 1 || map.element_strides[i] > 8) {
    return support::concat("the element stride of dimension ", i, " is ", map.element_strides[i],
                           ", the limits are 1 and 8");
  }
  if (i == 0) return std::nullopt;
  const std::uint64_t stride = map.strides[i - 1];
  if (stride % alignment(map) != 0) {
    return support::concat("the stride of dimension ", i, " is ", stride,
                           " bytes, it must be a multiple of ", alignment(map));
  }
  if (stride >= std::uint64_t{1} << 40) {
    return support::concat("the stride of dimension ", i, " is ", stride,
                           " bytes, the limit is 2^40 - 1");
  }
  return std::nullopt;
}

Problem inner_box_problem(const TensorMap& map) {
  const std::uint32_t elements = map.is_im2col() ? map.im2col.channels : map.box[0];
  const std::uint64_t bytes = std::uint64_t{elements} * element_bytes(map.type);
  if (bytes % 16 != 0) {
    return support::concat("dimension 0 of the box has ", bytes,
                           " bytes, it must be a multiple of 16");
  }
  const std::uint32_t span = swizzle_span(map.swizzle);
  if (map.swizzle != Swizzle::None && !map.is_interleaved() && bytes > span) {
    return support::concat("dimension 0 of the box has ", bytes, " bytes, the limit of the ", span,
                           " B swizzle is ", span);
  }
  return std::nullopt;
}

Problem im2col_problem(const TensorMap& map) {
  if (map.rank < 3) return "an im2col map has 3 to 5 dimensions";
  if (map.im2col.channels < 1 || map.im2col.channels > 256) {
    return support::concat("a pixel has ", map.im2col.channels,
                           " channels, the limits are 1 and 256");
  }
  if (map.im2col.pixels > 1024) {
    return support::concat("a column has ", map.im2col.pixels, " pixels, the limit is 1024");
  }
  const std::int32_t limit = map.rank == 3 ? 1 << 15 : map.rank == 4 ? 1 << 7 : 1 << 4;
  for (std::size_t i = 0; i + 2 < map.rank; ++i) {
    for (const std::int32_t corner : {map.im2col.lower[i], map.im2col.upper[i]}) {
      if (corner >= -limit && corner < limit) continue;
      return support::concat("a corner of the bounding box is ", corner, ", the limits are ",
                             -limit, " and ", limit - 1);
    }
  }
  return std::nullopt;
}

Problem interleave_problem(const TensorMap& map) {
  if (map.interleave > Interleave::B32) {
    return support::concat("interleave ", static_cast<int>(map.interleave),
                           " is not one of 0 to 2");
  }
  if (!map.is_interleaved()) return std::nullopt;
  if (map.is_im2col()) return "an im2col map cannot be interleaved here";
  if (map.rank < 3) return "an interleaved map has 3 to 5 dimensions";
  if (map.interleave == Interleave::B32 && map.swizzle != Swizzle::B32) {
    return "a map with slices of 32 bytes needs the 32 B swizzle";
  }
  return std::nullopt;
}

}  // namespace

std::uint32_t TensorMap::box_count(std::size_t i) const {
  if (is_interleaved() && i + 2 == rank) return 1;
  // The driver ignores the innermost stride of what is not interleaved.
  const std::uint32_t step = i == 0 && !is_interleaved() ? 1 : std::max(1U, element_strides[i]);
  return (box[i] + step - 1) / step;
}

std::uint64_t TensorMap::box_bytes() const {
  if (is_im2col()) return row_bytes() * im2col.pixels;
  std::uint64_t bytes = row_bytes();
  for (std::size_t i = 1; i < rank && i < box.size(); ++i) bytes *= box_count(i);
  return bytes;
}

std::optional<std::string> TensorMap::problem(std::uint64_t address) const {
  if (static_cast<std::uint8_t>(type) > static_cast<std::uint8_t>(MapType::TF32Ftz)) {
    return support::concat("element type ", static_cast<int>(type),
                           " is not one of a tensor map's");
  }
  if (swizzle > Swizzle::B128) {
    return support::concat("swizzle ", static_cast<int>(swizzle), " is not one of 0 to 3");
  }
  if (rank < 1 || rank > 5) {
    return support::concat("a tensor map has 1 to 5 dimensions, not ", static_cast<int>(rank));
  }
  if (Problem found = interleave_problem(*this)) return found;
  if (address % alignment(*this) != 0) {
    return support::concat("the tensor is at address ", address, ", it must be a multiple of ",
                           alignment(*this));
  }
  for (std::size_t i = 0; i < rank; ++i) {
    if (Problem found = dimension_problem(*this, i)) return found;
  }
  if (is_im2col()) {
    if (Problem found = im2col_problem(*this)) return found;
  }
  if (Problem found = inner_box_problem(*this)) return found;
  if (oob_nan && !is_floating(type)) {
    return "only a floating-point tensor can be filled with NaN outside its bounds";
  }
  if (l2_promotion > 3) {
    return support::concat("L2 promotion ", static_cast<int>(l2_promotion),
                           " is not one of 0 to 3");
  }
  return std::nullopt;
}

}  // namespace pyptx::layout
