// SPDX-License-Identifier: Apache-2.0
//
// Tiles, sizes and arrays of Python as those of interop.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "pyptx/interop/bind.h"
#include "pyptx/interop/tile.h"

namespace pyptx::python {

namespace nb = nanobind;

/// A pyptx.specs.Tile.
interop::Tile tile_of(nb::handle tile);

/// Sizes of Python: plain numbers, and objects that stand for one, such as those of a graph that
/// torch traces for any length, which are asked whether they are equal.
class PythonSizes final : public interop::SizeRules {
 public:
  std::int64_t add(nb::handle size);
  interop::Shape add_shape(nb::handle shape);
  /// The values that `values` has for the names in these dimensions.
  interop::Sizes add_values(const nb::dict& values, std::span<const interop::Dimension> dims);

  nb::object object(std::int64_t size) const;
  nb::tuple tuple(std::span<const std::int64_t> shape) const;

  bool same(std::int64_t a, std::int64_t b) const override;
  std::string text(std::int64_t size) const override;
  using interop::SizeRules::text;

 private:
  std::vector<nb::object> objects_;
};

/// What Python's `Array` says.
interop::Array array_of(nb::handle array, PythonSizes& sizes);
std::vector<interop::Array> arrays_of(nb::handle arrays, PythonSizes& sizes);

/// Tiles by themselves: functions of the module.
void bind_tile(nb::module_& m);
/// Signatures, and what a call is checked against.
void bind_signature(nb::module_& m);

}  // namespace pyptx::python
