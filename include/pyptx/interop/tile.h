// SPDX-License-Identifier: Apache-2.0
//
// The tensor boundary of a kernel: what one argument must look like. A tile knows shapes, element
// types and memory layouts, and what a tensor map over such a tensor is; it allocates nothing and
// never looks at data.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pyptx/diag/diagnostic.h"
#include "pyptx/interop/sizes.h"
#include "pyptx/layout/tensor_map.h"
#include "pyptx/support/result.h"

namespace pyptx::interop {

/// A number of elements, or a name whose value each call gives.
struct Dimension {
  Dimension(std::integral auto number)  // NOLINT: a dimension is written as one
      : size(static_cast<std::int64_t>(number)) {}
  Dimension(std::string text) : name(std::move(text)) {}  // NOLINT
  Dimension(const char* text) : name(text) {}             // NOLINT

  bool is_named() const { return !name.empty(); }
  bool operator==(const Dimension&) const = default;

  std::string name;
  std::int64_t size = 0;
};

/// The order of the elements in memory, and how a tensor map reads them. Column means that the
/// first dimension is contiguous; every other one is row-major memory, which a map copies with that
/// swizzle, or (Interleaved) without one, for the no-swizzle matrix layout.
enum class TileLayout : std::uint8_t { Row, Column, Swizzle128, Swizzle64, Swizzle32, Interleaved };

/// Bytes of the swizzle's span, 0 without one.
std::uint32_t swizzle_bytes(TileLayout layout);

/// What one tensor must look like.
struct Tile {
  std::vector<Dimension> dims;
  /// As in pyptx.types: "bf16". Empty: any. With a capital letter: a name whose type each call
  /// gives.
  std::string dtype = {};
  TileLayout layout = TileLayout::Row;
  /// Of one tensor copy, in the order of the dimensions; empty: one swizzle span by 64 rows.
  std::vector<std::int64_t> box = {};
  /// 2: the tensor as it is. 3: a (rows, cols) matrix seen as (64 elements, rows, cols/64), so that
  /// a box can be wider than the swizzle's span; `padded` makes its inner box 72 elements.
  std::int64_t map_rank = 2;
  bool padded = false;
  /// Of an output: the dimension that it is a sum over. Empty: none.
  std::string partial = {};
  /// Rows are contiguous and may lie apart: a launch brings the strides. Else the tensor is dense.
  bool strided = false;

  /// An operand of wgmma that tensor copies bring: A is (m, k), B is (k, n), the second dimension
  /// contiguous. It gets the widest swizzle that a row of one copy fills, and the box of a copy: as
  /// many rows as are said, else up to 64; as many columns, else up to 128 bytes, and no more than
  /// the swizzle spans. DeclarationType where the elements have no width.
  static diag::Result<Tile> wgmma_a(Dimension m, Dimension k, std::string_view dtype,
                                    std::optional<std::int64_t> tile_m = {},
                                    std::optional<std::int64_t> tile_k = {});
  static diag::Result<Tile> wgmma_b(Dimension k, Dimension n, std::string_view dtype,
                                    std::optional<std::int64_t> tile_k = {},
                                    std::optional<std::int64_t> tile_n = {});

  bool is_column() const { return layout == TileLayout::Column; }
  /// The call that makes it in Python, which is how messages name it: "Tile('M', 64, bf16)".
  std::string text() const;
  /// "(M, 64)".
  std::string shape_text() const;

  /// Why its parts do not fit each other: DeclarationValue.
  diag::Status check() const;
  /// The shape, with the value of every name put in: UnknownSize.
  diag::Result<Shape> shape(const Sizes& sizes) const;
  /// The values that a shape gives to the names: ArrayRank, ArrayShape, DimensionTwice. Their
  /// first argument is this tile's text; who knows whose tile it is names that.
  diag::Result<Sizes> sizes(std::span<const std::int64_t> shape,
                            const SizeRules& rules = plain_sizes()) const;
  /// The map over a tensor of that shape, those elements and strides, or why there is none.
  support::Result<layout::TensorMap, std::string> map(
      std::span<const std::int64_t> shape, std::string_view elements,
      std::span<const std::int64_t> strides = {}) const;
};

/// Whether elements of type `got` may be passed where a tile says `expected`. Equal names may, tf32
/// is stored as f32, uN takes signed integers of N bits, which some frameworks have alone, and an
/// untyped bN takes any elements of N bits.
bool accepts(std::string_view expected, std::string_view got);

/// What torch, JAX and NumPy call elements of that type; the name itself where they have none.
std::string_view framework_name(std::string_view dtype);

/// Bits of an element in memory, 0 for a name that is no type; bytes of a dense tensor of them.
std::uint64_t element_bits(std::string_view dtype);
std::uint64_t tensor_bytes(std::string_view dtype, std::span<const std::int64_t> shape);

/// The elements of a tensor map, by the name of a type: "bf16", "e4m3" (moved as bytes), "f32.ftz".
std::optional<layout::MapType> map_type(std::string_view dtype);

}  // namespace pyptx::interop
