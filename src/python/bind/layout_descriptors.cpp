// SPDX-License-Identifier: Apache-2.0
//
// pyptx._core.layout: descriptors and tensor maps field by field, and what a tensor copy brings.
#include <nanobind/nanobind.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "bind/layout.h"
#include "pyptx/emu/emulator.h"
#include "pyptx/layout/descriptor_fields.h"
#include "pyptx/layout/matrix_descriptor.h"
#include "pyptx/layout/tensor_box.h"
#include "pyptx/support/concat.h"

namespace pyptx::python {
namespace {

using namespace nb::literals;
using layout::MmaKind;
using u32 = std::uint32_t;
using u64 = std::uint64_t;

constexpr std::pair<std::string_view, MmaKind> kKinds[] = {
    {"f16", MmaKind::F16},           {"tf32", MmaKind::Tf32},
    {"f8f6f4", MmaKind::F8f6f4},     {"i8", MmaKind::I8},
    {"mxf8f6f4", MmaKind::Mxf8f6f4}, {"mxf4", MmaKind::Mxf4},
    {"mxf4nvf4", MmaKind::Mxf4nvf4},
};

MmaKind kind_of(const std::string& name) {
  for (const auto& [word, kind] : kKinds) {
    if (word == name) return kind;
  }
  throw nb::value_error(
      support::concat("kind '", name,
                      "' is not one of f16, tf32, f8f6f4, i8, mxf8f6f4, mxf4 and mxf4nvf4")
          .c_str());
}

/// (lowest bit, bits, name, as they stand, in words)
using Field = std::tuple<unsigned, unsigned, std::string_view, u64, std::string>;
/// (bits of the number, what of it was understood, why it is not legal, fields)
using Described = std::tuple<unsigned, u64, std::string, std::vector<Field>>;

Described as_tuple(const layout::DescriptorText& text) {
  std::vector<Field> fields;
  fields.reserve(text.fields.size());
  for (const auto& field : text.fields) {
    fields.emplace_back(field.at, field.size, field.name, field.bits, field.meaning);
  }
  return {text.size, text.encoded, text.problem, std::move(fields)};
}

u64 encode_wgmma(u32 start, u32 leading, u32 stride, std::uint8_t base_offset,
                 const std::string& swizzle) {
  const layout::LayoutType type = layout::layout_type(map_swizzle(swizzle));
  return layout::MatrixDescriptor{start, leading, stride, base_offset, type}.encode();
}

u64 encode_tcgen05(u32 start, u32 leading, u32 stride, std::uint8_t base_offset,
                   const std::string& swizzle, bool leading_is_address) {
  const layout::Tcgen05MatrixDescriptor descriptor{
      start, leading, stride, base_offset, leading_is_address, tcgen05_mode(swizzle)};
  if (const auto problem = descriptor.problem()) throw nb::value_error(problem->c_str());
  return descriptor.encode();
}

using Coordinates = std::vector<std::int32_t>;
/// (index, inside, coordinates, shared offset of each 16 bytes)
using Row = std::tuple<u64, bool, std::vector<std::int64_t>, std::vector<u32>>;
/// (rows, first number inside, end of those, bytes of a row, of a number, step, bytes of the fill)
using Box = std::tuple<std::vector<Row>, u64, u64, u64, u32, std::int64_t>;

layout::BoxMode mode_of(const std::string& name) {
  // one-place: how a copy walks, no instruction
  if (name == "tile") return layout::BoxMode::Tile;
  if (name == "im2col") return layout::BoxMode::Im2col;  // one-place: a walk, no instruction
  if (name == "gather4") return layout::BoxMode::Rows4;
  throw nb::value_error(
      support::concat("mode '", name, "' is not one of tile, im2col and gather4").c_str());
}

Box box(const layout::TensorMap& map, const Coordinates& coordinates, const std::string& mode,
        const std::array<u32, 3>& offsets, u32 start, bool is_store) {
  layout::TensorBox of;
  of.map = map;
  of.mode = mode_of(mode);
  const std::size_t needed = of.mode == layout::BoxMode::Rows4 ? 5 : map.rank;
  if (coordinates.size() != needed) {
    throw nb::value_error(
        support::concat("such a copy has ", needed, " coordinates, not ", coordinates.size())
            .c_str());
  }
  if ((of.mode == layout::BoxMode::Im2col) != map.is_im2col()) {
    throw nb::value_error(map.is_im2col() ? "the map is one of im2col: mode=\"im2col\""
                                          : "the map has no bounding box: it is not one of im2col");
  }
  std::copy(coordinates.begin(), coordinates.end(), of.coordinates.begin());
  of.offsets = offsets;
  std::vector<Row> rows;
  of.each_row([&](const layout::BoxRow& row) {
    std::vector<u32> chunks;
    for (u64 k = 0; k < map.row_bytes(); k += 16) chunks.push_back(of.shared_offset(start, row, k));
    rows.emplace_back(row.index, row.in_bounds,
                      std::vector<std::int64_t>(row.at.begin(), row.at.begin() + map.rank),
                      std::move(chunks));
  });
  const layout::BoxRange range = of.inside(is_store);
  return {std::move(rows), range.begin,      range.end,
          map.row_bytes(), map.unit_bytes(), of.column_step()};
}

template <typename List>
std::string listed(const List& values, std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) {
    if (i != 0) text += ", ";
    text += std::to_string(values[i]);
  }
  return text;
}

using MapField = std::pair<std::string_view, std::string>;

std::vector<MapField> map_fields(const layout::TensorMap& map) {
  constexpr std::string_view kTypes[] = {"u8",  "u16", "u32",  "s32",     "u64",  "s64",     "f16",
                                         "f32", "f64", "bf16", "f32 ftz", "tf32", "tf32 ftz"};
  constexpr std::string_view kSwizzles[] = {"none", "32B", "64B", "128B"};
  constexpr std::string_view kInterleaves[] = {"none", "16B", "32B"};
  constexpr std::string_view kPromotions[] = {"none", "64 B", "128 B", "256 B"};
  const std::size_t rank = map.rank;
  std::vector<MapField> fields{
      {"element type", std::string(kTypes[static_cast<std::size_t>(map.type)])},
      {"rank", std::to_string(map.rank)},
      {"dimensions, innermost first", listed(map.dims, rank)},
      {"strides in bytes, of dimension 1 on", listed(map.strides, rank - 1)},
  };
  if (map.is_im2col()) {
    fields.emplace_back("lower corner (W, H, D)", listed(map.im2col.lower, rank - 2));
    fields.emplace_back("upper corner (W, H, D)", listed(map.im2col.upper, rank - 2));
    fields.emplace_back("channels of a pixel", std::to_string(map.im2col.channels));
    fields.emplace_back("pixels of a column", std::to_string(map.im2col.pixels));
  } else {
    fields.emplace_back("box", listed(map.box, rank));
  }
  fields.emplace_back("element strides", listed(map.element_strides, rank));
  fields.emplace_back("interleave", kInterleaves[static_cast<std::size_t>(map.interleave)]);
  fields.emplace_back("swizzle", kSwizzles[static_cast<std::size_t>(map.swizzle)]);
  fields.emplace_back("fill outside", map.oob_nan ? "NaN" : "zero");
  fields.emplace_back("L2 promotion", kPromotions[map.l2_promotion & 3U]);
  fields.emplace_back("bytes of a box", std::to_string(map.box_bytes()));
  return fields;
}

std::pair<layout::TensorMap, u64> decode_map(nb::bytes bytes) {
  if (bytes.size() != 128) throw nb::value_error("a tensor map has 128 bytes");
  const auto decoded = emu::decode_map(reinterpret_cast<const std::byte*>(bytes.c_str()));
  if (!decoded) {
    throw nb::value_error(
        "these bytes are not of the emulator's encoding; a driver's is not documented");
  }
  return {decoded->map, decoded->address};
}

nb::bytes encode_map(const layout::TensorMap& map, u64 address) {
  if (const auto problem = map.problem(address)) throw nb::value_error(problem->c_str());
  const auto bytes = emu::encode(map, address);
  return nb::bytes(bytes.data(), bytes.size());
}

}  // namespace

void bind_layout_descriptors(nb::module_& m) {
  m.def(
      "describe_wgmma", [](u64 bits) { return as_tuple(layout::describe_wgmma(bits)); }, "bits"_a);
  m.def(
      "describe_tcgen05", [](u64 bits) { return as_tuple(layout::describe_tcgen05(bits)); },
      "bits"_a);
  m.def(
      "describe_zero_columns",
      [](u64 bits) { return as_tuple(layout::describe_zero_columns(bits)); }, "bits"_a);
  m.def(
      "describe_instruction",
      [](const std::string& kind, u32 bits, int cta_group, bool ws) {
        return as_tuple(layout::describe_instruction(kind_of(kind), bits, cta_group, ws));
      },
      "kind"_a, "bits"_a, "cta_group"_a = 1, "ws"_a = false,
      "Bits of the number, what of it was understood, why it is not legal, and its fields.");
  m.def("encode_wgmma", &encode_wgmma, "start"_a, "leading_bytes"_a, "stride_bytes"_a,
        "base_offset"_a = 0, "swizzle"_a = "128B");
  m.def("encode_tcgen05", &encode_tcgen05, "start"_a, "leading_bytes"_a, "stride_bytes"_a,
        "base_offset"_a = 0, "swizzle"_a = "128B", "leading_is_address"_a = false);
  m.def("box", &box, "map"_a, "coordinates"_a, "mode"_a = "tile",
        "offsets"_a = std::array<u32, 3>{}, "start"_a = 0, "store"_a = false,
        "What a copy of a box brings: rows with their shared offsets, and what lies inside.");
  m.def("map_fields", &map_fields, "map"_a);
  m.def("decode_map", &decode_map, "data"_a, "The map and the address in the emulator's bytes.");
  m.def("encode_map", &encode_map, "map"_a, "address"_a);
}

}  // namespace pyptx::python
