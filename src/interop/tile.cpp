// SPDX-License-Identifier: Apache-2.0
//
// Tiles against shapes and element types (see the header); their maps are in tile_map.cpp.
#include "pyptx/interop/tile.h"

#include <algorithm>

#include "pyptx/interop/types.h"
#include "pyptx/isa/type.h"
#include "pyptx/support/concat.h"

namespace pyptx::interop {
namespace {

using diag::Kind;
using support::concat;

/// As Python has names, but for the letters beyond ASCII, which all may stand in one.
bool is_identifier(std::string_view name) {
  const auto is_letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (c & 0x80) != 0;
  };
  return is_letter(name.front()) &&
         std::ranges::all_of(name, [&](char c) { return is_letter(c) || (c >= '0' && c <= '9'); });
}

std::string quoted(std::string_view name) { return concat("'", name, "'"); }

/// Whether it is a name that nobody takes for a type in other letters: "T", but not "F32".
bool is_type_name_of(std::string_view dtype) {
  std::string small(dtype);
  for (char& c : small) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return is_type_name(dtype) && is_identifier(dtype) && element_bits(small) == 0;
}

const isa::ElementInfo& element_of(std::string_view dtype) {
  return isa::element(isa::find_type(dtype).value_or(isa::Type::None));
}

/// As Python writes the members of its Layout.
std::string_view python_name(TileLayout layout) {
  constexpr std::string_view kNames[] = {"ROW",     "COL",     "TMA_128B",
                                         "TMA_64B", "TMA_32B", "INTERLEAVED"};
  return kNames[static_cast<std::size_t>(layout)];
}

std::vector<std::string> names_of(std::span<const Dimension> dims, bool is_quoted) {
  std::vector<std::string> out;
  for (const Dimension& dim : dims) {
    if (!dim.is_named()) {
      out.push_back(concat(dim.size));
    } else {
      out.push_back(is_quoted ? quoted(dim.name) : dim.name);
    }
  }
  return out;
}

}  // namespace

std::uint32_t swizzle_bytes(TileLayout layout) {
  switch (layout) {
    case TileLayout::Swizzle128:
      return 128;
    case TileLayout::Swizzle64:
      return 64;
    case TileLayout::Swizzle32:
      return 32;
    default:
      return 0;
  }
}

std::string Tile::shape_text() const { return tuple_text(names_of(dims, false)); }

std::string Tile::text() const {
  std::vector<std::string> parts = names_of(dims, true);
  if (!dtype.empty()) {
    parts.push_back(is_type_name(dtype) ? concat("dtype=", quoted(dtype)) : dtype);
  }
  if (layout != TileLayout::Row) parts.push_back(concat("Layout.", python_name(layout)));
  if (!box.empty()) parts.push_back(concat("tma_box=", plain_sizes().text(box)));
  if (map_rank != 2) parts.push_back(concat("tma_rank=", map_rank));
  if (padded) parts.emplace_back("tma_padding=True");
  if (strided) parts.emplace_back("strides='dynamic'");
  if (!partial.empty()) parts.push_back(concat("partial=", quoted(partial)));
  std::string out = "Tile(";
  for (const std::string& part : parts) out += concat(out.back() == '(' ? "" : ", ", part);
  return out + ")";
}

diag::Status Tile::check() const {
  const auto bad = [](std::string what, std::string_view why) {
    return diag::fail(Kind::DeclarationValue, {std::move(what), std::string(why)});
  };
  for (const Dimension& dim : dims) {
    if (dim.is_named() ? !is_identifier(dim.name) : dim.size < 0) {
      return bad(concat("dimension ", dim.is_named() ? quoted(dim.name) : concat(dim.size)),
                 dim.is_named() ? "is not a name" : "is negative");
    }
  }
  if (!dtype.empty() && element_bits(dtype) == 0 && !is_type_name_of(dtype)) {
    return bad(concat("dtype ", quoted(dtype)),
               "is no type of pyptx.types, nor a name for one, which begins with a capital letter");
  }
  if (map_rank != 2 && map_rank != 3) {
    return bad(concat("tma_rank is ", map_rank, ";"), "it is 2 (the tensor) or 3 (the view)");
  }
  if (map_rank == 3 && dims.size() != 2) {
    return bad("tma_rank=3 views a matrix;", concat(text(), " has ", dims.size(), " dimensions"));
  }
  if (strided && (dims.size() < 2 || is_column())) {
    return bad("strides='dynamic'",
               concat("is of rows that lie apart; ", text(),
                      is_column() ? " has columns" : " has less than two dimensions"));
  }
  if (padded && map_rank != 3) {
    return bad("tma_padding", "pads the view of tma_rank=3; set tma_rank=3 too");
  }
  if (!box.empty() && box.size() != dims.size()) {
    return bad(concat("tma_box ", plain_sizes().text(box)),
               concat("has ", box.size(), " edges; the tile has ", dims.size(), " dimensions"));
  }
  return diag::success();
}

diag::Result<Shape> Tile::shape(const Sizes& sizes) const {
  Shape out;
  std::string missing;
  for (const Dimension& dim : dims) {
    const auto size = dim.is_named() ? sizes.find(dim.name) : std::optional(dim.size);
    out.push_back(size.value_or(0));
    if (size) continue;
    const std::string name = quoted(dim.name);
    if (missing.find(name) == std::string::npos) {
      missing += concat(missing.empty() ? "" : ", ", name);
    }
  }
  if (missing.empty()) return out;
  return diag::fail(Kind::UnknownSize, {text(), missing, ""});
}

diag::Result<Sizes> Tile::sizes(std::span<const std::int64_t> shape, const SizeRules& rules) const {
  if (shape.size() != dims.size()) {
    return diag::fail(Kind::ArrayRank, {text(), concat(dims.size()), shape_text(),
                                        concat(shape.size()), rules.text(shape)});
  }
  Sizes found;
  for (std::size_t axis = 0; axis < dims.size(); ++axis) {
    const Dimension& dim = dims[axis];
    if (!dim.is_named()) {
      if (rules.same(dim.size, shape[axis])) continue;
      return diag::fail(Kind::ArrayShape, {text(), shape_text(), rules.text(shape), concat(axis),
                                           rules.text(shape[axis]), concat(dim.size)});
    }
    const auto known = found.find(dim.name);
    if (!known) {
      found.add(dim.name, shape[axis]);
    } else if (!rules.same(*known, shape[axis])) {
      return diag::fail(Kind::DimensionTwice,
                        {text(), dim.name, rules.text(*known), rules.text(shape[axis])});
    }
  }
  return found;
}

bool accepts(std::string_view expected, std::string_view got) {
  if (expected == got || (expected == "tf32" && got == "f32")) return true;
  const auto is_plain = [](std::string_view name, char kind) {
    return name.size() > 1 && name[0] == kind &&
           std::ranges::all_of(name.substr(1), [](char c) { return c >= '0' && c <= '9'; });
  };
  const bool is_alike = is_plain(expected, 'b') || (is_plain(expected, 'u') && is_plain(got, 's'));
  return is_alike && element_bits(expected) != 0 && element_bits(expected) == element_bits(got);
}

std::string_view framework_name(std::string_view dtype) {
  const std::string_view name = isa::element(element_of(dtype).stored).framework;
  return name.empty() ? dtype : name;
}

std::uint64_t element_bits(std::string_view dtype) { return element_of(dtype).bits; }

std::uint64_t tensor_bytes(std::string_view dtype, std::span<const std::int64_t> shape) {
  std::uint64_t bits = element_bits(dtype);
  for (const std::int64_t size : shape) bits *= static_cast<std::uint64_t>(size);
  return (bits + 7) / 8;
}

}  // namespace pyptx::interop
