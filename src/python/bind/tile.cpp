// SPDX-License-Identifier: Apache-2.0
//
// What pyptx.specs.Tile asks of interop::Tile. A tile of Python keeps plain values, which
// torch.compile can read; it becomes one of C++ for each question.
#include "bind/tile.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "errors.h"
#include "pyptx/interop/strides.h"

namespace pyptx::python {
namespace {

using interop::TileLayout;

/// The values of Python's Layout.
constexpr std::array<std::pair<std::string_view, TileLayout>, 6> kLayouts = {{
    {"row", TileLayout::Row},
    {"col", TileLayout::Column},
    {"tma_128b", TileLayout::Swizzle128},
    {"tma_64b", TileLayout::Swizzle64},
    {"tma_32b", TileLayout::Swizzle32},
    {"interleaved", TileLayout::Interleaved},
}};

TileLayout layout_of(nb::handle layout) {
  const auto value = nb::cast<std::string>(layout.attr("value"));
  for (const auto& [name, known] : kLayouts) {
    if (name == value) return known;
  }
  throw nb::value_error(("no layout is called " + value).c_str());
}

bool is_size(nb::handle object) { return PyLong_Check(object.ptr()); }

nb::dict sizes_of_tile(nb::handle tile, nb::handle shape) {
  PythonSizes rules;
  const interop::Tile described = tile_of(tile);
  const auto found = unwrap(described.sizes(rules.add_shape(shape), rules));
  nb::dict out;
  for (const auto& [name, size] : found) out[nb::str(name.c_str())] = rules.object(size);
  return out;
}

nb::tuple shape_of_tile(nb::handle tile, const nb::dict& values) {
  PythonSizes rules;
  const interop::Tile described = tile_of(tile);
  return rules.tuple(unwrap(described.shape(rules.add_values(values, described.dims))));
}

interop::Dimension dimension_of(nb::handle dim) {
  if (is_size(dim)) return nb::cast<std::int64_t>(dim);
  return nb::cast<std::string>(dim);
}

/// The layout, by its value, and the box of an operand of wgmma.
std::pair<std::string_view, std::pair<std::int64_t, std::int64_t>> wgmma_tile(
    nb::handle rows, nb::handle columns, std::string_view dtype,
    std::optional<std::int64_t> box_rows, std::optional<std::int64_t> box_columns) {
  const auto tile = unwrap(interop::Tile::wgmma_a(dimension_of(rows), dimension_of(columns), dtype,
                                                  box_rows, box_columns));
  const auto is_its = [&](const auto& row) { return row.second == tile.layout; };
  return {std::ranges::find_if(kLayouts, is_its)->first, {tile.box[0], tile.box[1]}};
}

layout::TensorMap map_of_tile(nb::handle tile, nb::handle shape, std::string_view dtype) {
  PythonSizes rules;
  auto made = tile_of(tile).map(rules.add_shape(shape), dtype);
  if (!made) raise(diag::Diagnostic(diag::Kind::TensorMapRule, {made.error()}));
  return *made;
}

bool tile_takes(nb::handle tile, nb::handle shape, std::string_view dtype) {
  PythonSizes rules;
  const interop::Tile described = tile_of(tile);
  if (!described.dtype.empty() && !interop::is_type_name(described.dtype) &&
      !interop::accepts(described.dtype, dtype)) {
    return false;
  }
  return described.sizes(rules.add_shape(shape), rules).ok();
}

}  // namespace

interop::Tile tile_of(nb::handle tile) {
  interop::Tile out;
  for (const nb::handle dim : nb::tuple(tile.attr("dims"))) out.dims.push_back(dimension_of(dim));
  if (const nb::object dtype = tile.attr("dtype_name"); !dtype.is_none()) {
    out.dtype = nb::cast<std::string>(dtype);
  }
  out.layout = layout_of(tile.attr("layout"));
  if (const nb::object box = tile.attr("tma_box"); !box.is_none()) {
    out.box = nb::cast<std::vector<std::int64_t>>(box);
  }
  out.map_rank = nb::cast<std::int64_t>(tile.attr("tma_rank"));
  out.padded = PyObject_IsTrue(nb::object(tile.attr("tma_padding")).ptr()) == 1;
  out.strided = !tile.attr("strides").is_none();
  if (const nb::object partial = tile.attr("partial"); !partial.is_none()) {
    out.partial = nb::cast<std::string>(partial);
  }
  return out;
}

std::int64_t PythonSizes::add(nb::handle size) {
  if (is_size(size)) {
    int overflow = 0;
    const std::int64_t number = PyLong_AsLongLongAndOverflow(size.ptr(), &overflow);
    if (overflow == 0 && number >= 0) return number;
  }
  objects_.push_back(nb::borrow(size));
  return -static_cast<std::int64_t>(objects_.size());
}

interop::Shape PythonSizes::add_shape(nb::handle shape) {
  interop::Shape out;
  for (const nb::handle size : nb::tuple(nb::borrow(shape))) out.push_back(add(size));
  return out;
}

interop::Sizes PythonSizes::add_values(const nb::dict& values,
                                       std::span<const interop::Dimension> dims) {
  interop::Sizes out;
  for (const interop::Dimension& dim : dims) {
    if (!dim.is_named() || out.find(dim.name)) continue;
    const nb::str name(dim.name.c_str(), dim.name.size());
    if (values.contains(name)) out.add(dim.name, add(nb::object(values[name])));
  }
  return out;
}

nb::object PythonSizes::object(std::int64_t size) const {
  return size >= 0 ? nb::object(nb::int_(size)) : objects_[static_cast<std::size_t>(-size - 1)];
}

nb::tuple PythonSizes::tuple(std::span<const std::int64_t> shape) const {
  nb::object out = nb::steal(PyTuple_New(static_cast<Py_ssize_t>(shape.size())));
  for (std::size_t i = 0; i < shape.size(); ++i) {
    PyTuple_SET_ITEM(out.ptr(), static_cast<Py_ssize_t>(i), object(shape[i]).release().ptr());
  }
  return nb::cast<nb::tuple>(out);
}

bool PythonSizes::same(std::int64_t a, std::int64_t b) const {
  return a == b || ((a < 0 || b < 0) && object(a).equal(object(b)));
}

std::string PythonSizes::text(std::int64_t size) const {
  return size >= 0 ? std::to_string(size) : nb::cast<std::string>(nb::str(object(size)));
}

interop::Array array_of(nb::handle array, PythonSizes& sizes) {
  interop::Array out;
  out.shape = sizes.add_shape(array.attr("shape"));
  out.dtype = nb::cast<std::string>(array.attr("dtype"));
  out.device = nb::cast<std::string>(array.attr("device"));
  if (const nb::object strides = array.attr("strides"); !strides.is_none()) {
    out.strides = nb::cast<std::vector<double>>(strides);
  }
  out.pointer = nb::cast<std::uint64_t>(array.attr("pointer"));
  out.bytes = nb::cast<std::uint64_t>(array.attr("nbytes"));
  return out;
}

std::vector<interop::Array> arrays_of(nb::handle arrays, PythonSizes& sizes) {
  std::vector<interop::Array> out;
  for (const nb::handle array : arrays) out.push_back(array_of(array, sizes));
  return out;
}

void bind_tile(nb::module_& m) {
  m.def("is_type_name", &interop::is_type_name, nb::arg("dtype"),
        "Whether what stands for an element type is a name whose type each call gives.");
  m.def(
      "check_tile", [](nb::handle tile) { unwrap(tile_of(tile).check()); }, nb::arg("tile"),
      "Refuse a Tile whose parts do not fit each other.");
  m.def(
      "row_strides",
      [](const interop::Shape& shape, const std::optional<interop::Shape>& strides) {
        return PythonSizes().tuple(interop::row_strides(shape, strides.value_or(interop::Shape())));
      },
      nb::arg("shape"), nb::arg("strides").none() = nb::none(),
      "The strides of a launch: the given ones, but for dimensions of one element; without any "
      "those of a dense tensor.");
  m.def("tile_text", [](nb::handle tile) { return tile_of(tile).text(); }, nb::arg("tile"));
  m.def("tile_sizes", &sizes_of_tile, nb::arg("tile"), nb::arg("shape"));
  m.def("tile_shape", &shape_of_tile, nb::arg("tile"), nb::arg("values"));
  m.def("tile_takes", &tile_takes, nb::arg("tile"), nb::arg("shape"), nb::arg("dtype"));
  m.def("tile_wgmma", &wgmma_tile, nb::arg("rows"), nb::arg("columns"), nb::arg("dtype"),
        nb::arg("box_rows").none(), nb::arg("box_columns").none());
  m.def("accepts", &interop::accepts, nb::arg("expected"), nb::arg("got"),
        "Whether elements of a type may be passed where a Tile says another.");
  m.def("tile_map", &map_of_tile, nb::arg("tile"), nb::arg("shape"), nb::arg("dtype"));
}

}  // namespace pyptx::python
