// SPDX-License-Identifier: Apache-2.0
//
// Tensor maps from tiles: which dimensions, strides, box and swizzle a descriptor gets. The result
// is a description in words; encoding it for a device, or for the emulator, is done at the launch,
// when the address is known.
#include <algorithm>
#include <limits>

#include "pyptx/interop/tile.h"
#include "pyptx/isa/type.h"
#include "pyptx/support/concat.h"

namespace pyptx::interop {
namespace {

using layout::TensorMap;
using support::concat;
using Made = support::Result<TensorMap, std::string>;

constexpr std::int64_t kViewWidth = 64;  // elements of the innermost dimension of the rank-3 view
constexpr std::int64_t kPaddedWidth = 72;
constexpr std::int64_t kDefaultEdge = 64;
constexpr std::size_t kMostDimensions = 5;
constexpr std::uint64_t kStrideUnit = 16;  // bytes

support::Failure<std::string> refused(std::string why) { return {std::move(why)}; }

layout::Swizzle swizzle_of(TileLayout layout) {
  switch (layout) {
    case TileLayout::Swizzle128:
      return layout::Swizzle::B128;
    case TileLayout::Swizzle64:
      return layout::Swizzle::B64;
    case TileLayout::Swizzle32:
      return layout::Swizzle::B32;
    default:
      return layout::Swizzle::None;
  }
}

/// One swizzle span wide and 64 rows high, within the tensor; 1 in further dimensions. Row-major.
Shape default_box(std::span<const std::int64_t> shape, std::uint64_t bits, TileLayout layout) {
  Shape box(shape.size(), 1);
  const std::uint32_t swizzle = swizzle_bytes(layout);
  const auto span = static_cast<std::int64_t>(swizzle * 8 / bits);
  box.back() = swizzle != 0 ? span : std::min(shape.back(), kDefaultEdge);
  if (shape.size() > 1) box[shape.size() - 2] = std::min(shape[shape.size() - 2], kDefaultEdge);
  return box;
}

/// What the parts of a map may be: the rest is the driver's to judge (TensorMap::problem).
std::optional<std::string> bad_edge(std::span<const std::int64_t> box) {
  for (const std::int64_t edge : box) {
    if (edge < 0 || edge > std::numeric_limits<std::uint32_t>::max()) {
      return concat("a box has no edge of ", edge);
    }
  }
  return std::nullopt;
}

/// The map over a row-major tensor, dense where there are no strides; a map counts dimensions from
/// the innermost one.
TensorMap flat_map(const TensorMap& kind, std::span<const std::int64_t> shape,
                   std::span<const std::int64_t> strides, std::span<const std::int64_t> box,
                   std::uint64_t element_bytes) {
  TensorMap map = kind;
  map.rank = static_cast<std::uint8_t>(shape.size());
  std::uint64_t stride = element_bytes;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const std::size_t axis = shape.size() - 1 - i;
    map.dims[i] = static_cast<std::uint64_t>(shape[axis]);
    map.box[i] = static_cast<std::uint32_t>(box[axis]);
    if (!strides.empty() && i > 0) {
      stride = static_cast<std::uint64_t>(strides[axis]) * element_bytes;
      // No copy steps over one element, but the descriptor's rules hold for its stride too.
      if (map.dims[i] == 1) stride = (stride + kStrideUnit - 1) / kStrideUnit * kStrideUnit;
    }
    if (i > 0) map.strides[i - 1] = stride;
    stride *= map.dims[i];
  }
  return map;
}

/// The map over a (rows, cols) matrix seen as (64 elements, rows, cols/64).
Made view_map(const TensorMap& kind, std::span<const std::int64_t> shape,
              std::span<const std::int64_t> strides, std::span<const std::int64_t> box,
              std::uint64_t element_bytes, bool padded) {
  const std::int64_t cols = shape[1];
  if (cols % kViewWidth != 0 || box[1] % kViewWidth != 0) {
    return refused(concat("a rank-3 tensor map needs columns in multiples of ", kViewWidth,
                          ": the matrix has ", cols, ", the box ", box[1]));
  }
  TensorMap map = kind;
  map.rank = 3;
  map.dims = {kViewWidth, static_cast<std::uint64_t>(shape[0]),
              static_cast<std::uint64_t>(cols / kViewWidth)};
  const std::int64_t row = strides.empty() ? cols : strides[0];
  map.strides = {static_cast<std::uint64_t>(row) * element_bytes, kViewWidth * element_bytes};
  map.box = {static_cast<std::uint32_t>(padded ? kPaddedWidth : kViewWidth),
             static_cast<std::uint32_t>(box[0]), static_cast<std::uint32_t>(box[1] / kViewWidth)};
  return map;
}

/// What a copy brings of a dimension: as much as is said, or all of it, up to `most`.
std::int64_t edge_of(const Dimension& dim, std::optional<std::int64_t> said, std::int64_t most) {
  if (said) return *said;
  return dim.is_named() ? most : std::min(dim.size, most);
}

diag::Result<Tile> wgmma_operand(Dimension rows, Dimension columns, std::string_view dtype,
                                 std::optional<std::int64_t> box_rows,
                                 std::optional<std::int64_t> box_columns) {
  const auto bits = static_cast<std::int64_t>(element_bits(dtype));
  if (bits == 0) {
    return diag::fail(
        diag::Kind::DeclarationType,
        {"Tile.wgmma_a and Tile.wgmma_b:",
         concat("needs an element type, whose width its box depends on, not '", dtype, "'")});
  }
  Tile out{.dims = {std::move(rows), std::move(columns)}, .dtype = std::string(dtype)};
  const std::int64_t height = edge_of(out.dims[0], box_rows, kDefaultEdge);
  std::int64_t width = edge_of(out.dims[1], box_columns, 128 * 8 / bits);
  for (const TileLayout way :
       {TileLayout::Swizzle128, TileLayout::Swizzle64, TileLayout::Swizzle32}) {
    const std::int64_t span = swizzle_bytes(way);
    if (width * bits / 8 < span) continue;
    // A swizzled box is at most one span wide; a wider tile is loaded by several copies.
    out.layout = way;
    width = span * 8 / bits;
    break;
  }
  out.box = {height, width};
  return out;
}

}  // namespace

support::Result<TensorMap, std::string> Tile::map(std::span<const std::int64_t> shape,
                                                  std::string_view elements,
                                                  std::span<const std::int64_t> strides) const {
  if (shape.empty()) return refused("a tensor map needs a dimension");
  if (shape.size() > kMostDimensions) {
    return refused(concat("a tensor map has at most ", kMostDimensions, " dimensions"));
  }
  const auto type = map_type(elements);
  if (!type) return refused(concat("a tensor map has no elements of type ", elements));
  TensorMap kind;
  kind.type = *type;
  kind.swizzle = swizzle_of(layout);
  const bool is_view = map_rank == 3;
  const bool is_reversed = is_column() && !is_view;  // the first dimension is the contiguous one
  Shape sizes(shape.begin(), shape.end());
  Shape edges = box;
  if (is_reversed) {
    std::ranges::reverse(sizes);
    std::ranges::reverse(edges);
  }
  const std::uint64_t bits = element_bits(elements.substr(0, elements.find('.')));
  if (edges.empty()) edges = default_box(sizes, bits, is_view ? TileLayout::Row : layout);
  if (edges.size() != sizes.size()) {
    return refused(
        concat("the box has ", edges.size(), " edges, the tensor ", sizes.size(), " dimensions"));
  }
  if (auto problem = bad_edge(edges)) return refused(std::move(*problem));
  if (is_view) return view_map(kind, sizes, strides, edges, bits / 8, padded);
  return flat_map(kind, sizes, strides, edges, bits / 8);
}

std::optional<layout::MapType> map_type(std::string_view dtype) {
  using isa::Type;
  using layout::MapType;
  struct Row {
    Type type;
    MapType plain;
    std::optional<MapType> flushed;  // dtype.ftz
  };
  static constexpr Row kTypes[] = {
      {Type::U8, MapType::U8, {}},
      {Type::U16, MapType::U16, {}},
      {Type::U32, MapType::U32, {}},
      {Type::S32, MapType::S32, {}},
      {Type::U64, MapType::U64, {}},
      {Type::S64, MapType::S64, {}},
      {Type::F16, MapType::F16, {}},
      {Type::F32, MapType::F32, MapType::F32Ftz},
      {Type::F64, MapType::F64, {}},
      {Type::Bf16, MapType::BF16, {}},
      {Type::Tf32, MapType::TF32, MapType::TF32Ftz},
  };
  // one-place: the suffix of a map's element type, which no instruction spells.
  const bool is_flushed = dtype.ends_with(".ftz");
  if (is_flushed) dtype.remove_suffix(4);
  const Type moved = isa::element(isa::find_type(dtype).value_or(Type::None)).map;
  for (const Row& row : kTypes) {
    if (moved != Type::None && row.type == moved) return is_flushed ? row.flushed : row.plain;
  }
  return std::nullopt;
}

diag::Result<Tile> Tile::wgmma_a(Dimension m, Dimension k, std::string_view dtype,
                                 std::optional<std::int64_t> tile_m,
                                 std::optional<std::int64_t> tile_k) {
  return wgmma_operand(std::move(m), std::move(k), dtype, tile_m, tile_k);
}

diag::Result<Tile> Tile::wgmma_b(Dimension k, Dimension n, std::string_view dtype,
                                 std::optional<std::int64_t> tile_k,
                                 std::optional<std::int64_t> tile_n) {
  return wgmma_operand(std::move(k), std::move(n), dtype, tile_k, tile_n);
}

}  // namespace pyptx::interop
