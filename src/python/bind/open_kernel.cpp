// SPDX-License-Identifier: Apache-2.0
//
// Kernels for any size as Python objects: made from what a call settled but its sizes, and what
// they are for some. Bindings only.
#include <nanobind/nanobind.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "bind/runtime.h"
#include "bind/tile.h"
#include "errors.h"
#include "module/object.h"
#include "pyptx/interop/open_kernel.h"

namespace pyptx::python {
namespace {

using interop::OpenKernel;
using interop::Signature;
using interop::SizeExpression;

/// The dimensions of a tensor: numbers, and names of those that are open.
using Dims = std::vector<std::variant<std::int64_t, std::string>>;
/// An expression; bits of every launch; what each launch brings, and its default.
using ScalarRow =
    std::variant<std::string, std::uint64_t, std::tuple<std::optional<std::uint64_t>>>;

SizeExpression expression(const std::string& text) {
  return unwrap(SizeExpression::from_text(text));
}

interop::OpenScalar scalar_of(const ScalarRow& row) {
  if (const auto* text = std::get_if<std::string>(&row)) return {.size = expression(*text)};
  if (const auto* bits = std::get_if<std::uint64_t>(&row)) return {.bits = *bits, .is_fixed = true};
  return {.bits = std::get<0>(std::get<2>(row))};
}

/// The declaration, with what is settled put in.
Signature settled(Signature signature, const std::vector<Dims>& dims,
                  const std::vector<std::string>& dtypes) {
  for (std::size_t i = 0; i < signature.tensor_count(); ++i) {
    const bool is_input = i < signature.inputs.size();
    interop::Tile& tile =
        is_input ? signature.inputs[i].tile : signature.outputs[i - signature.inputs.size()].tile;
    tile.dims.clear();
    for (const auto& dim : dims.at(i)) {
      std::visit([&](const auto& d) { tile.dims.emplace_back(d); }, dim);
    }
    tile.dtype = dtypes.at(i);
    tile.strided = false;
    tile.partial.clear();
  }
  // Of a dimension that is a number by now the promise was checked.
  std::erase_if(signature.multiples, [&](const interop::Multiple& multiple) {
    for (std::size_t i = 0; i < signature.tensor_count(); ++i) {
      for (const interop::Dimension& dim : signature.tensor(i).tile.dims) {
        if (dim.name == multiple.dimension) return false;
      }
    }
    return true;
  });
  signature.batch.clear();
  return signature;
}

/// Dimensions and element types of the tensors.
using OpenFacts = std::pair<std::vector<Dims>, std::vector<std::string>>;
/// Expressions of the grid; block and cluster.
using OpenSizes = std::tuple<std::array<std::string, 3>, Triple, Triple>;

OpenKernel make(const Signature& signature, const ModuleObject& module,
                std::pair<std::string, std::string> text, const OpenFacts& facts,
                const OpenSizes& sizes, std::uint32_t dynamic_shared,
                const std::vector<ScalarRow>& scalars, const std::vector<std::string>& maps,
                bool maps_by_value, bool is_programmatic) {
  const auto& [grid, block, cluster] = sizes;
  OpenKernel out{.text = {module.module, std::move(text.first), std::move(text.second)},
                 .signature = settled(signature, facts.first, facts.second),
                 .launch = {.grid = {expression(grid[0]), expression(grid[1]), expression(grid[2])},
                            .block = dim3(block),
                            .cluster = dim3(cluster),
                            .dynamic_shared = dynamic_shared,
                            .maps = maps,
                            .maps_by_value = maps_by_value,
                            .is_programmatic = is_programmatic}};
  for (const ScalarRow& row : scalars) out.launch.scalars.push_back(scalar_of(row));
  return out;
}

/// name, element type, dimensions, column-major
using TensorRow = std::tuple<std::string, std::string, Dims, bool>;

std::vector<TensorRow> rows(const std::vector<interop::Argument>& arguments) {
  std::vector<TensorRow> out;
  for (const auto& [name, tile] : arguments) {
    Dims dims;
    for (const interop::Dimension& dim : tile.dims) {
      if (dim.is_named()) {
        dims.emplace_back(dim.name);
      } else {
        dims.emplace_back(dim.size);
      }
    }
    out.emplace_back(name, tile.dtype, std::move(dims), tile.is_column());
  }
  return out;
}

/// name, type and default of the scalars that each launch brings
std::vector<std::tuple<std::string, std::string, std::optional<std::uint64_t>>> scalar_rows(
    const OpenKernel& kernel) {
  std::vector<std::tuple<std::string, std::string, std::optional<std::uint64_t>>> out;
  for (std::size_t i = 0; i < kernel.signature.scalars.size(); ++i) {
    const interop::OpenScalar& scalar = kernel.launch.scalars.at(i);
    const auto& [type, name] = kernel.signature.scalars[i];
    if (!scalar.size && !scalar.is_fixed) out.emplace_back(name, type, scalar.bits);
  }
  return out;
}

OpenKernel with_scalars(const OpenKernel& kernel, const std::vector<std::uint64_t>& bits) {
  OpenKernel out = kernel;
  std::size_t next = 0;
  for (interop::OpenScalar& scalar : out.launch.scalars) {
    if (!scalar.size && !scalar.is_fixed) scalar = {.bits = bits.at(next++), .is_fixed = true};
  }
  return out;
}

nb::list output_shapes(const OpenKernel& kernel, const nb::object& inputs) {
  PythonSizes rules;
  const auto bound =
      unwrap(interop::bind_inputs(kernel.signature, arrays_of(inputs, rules), rules));
  nb::list out;
  for (const auto& shape : unwrap(kernel.signature.output_shapes(bound.sizes))) {
    out.append(rules.tuple(shape));
  }
  return out;
}

interop::SavedKernel at(const OpenKernel& kernel, const std::vector<interop::Shape>& inputs,
                        const std::optional<std::vector<interop::Shape>>& outputs) {
  return unwrap(kernel.at(inputs, outputs));
}

}  // namespace

void bind_open_kernel(nb::module_& m) {
  nb::class_<OpenKernel>(m, "OpenKernel", "A kernel for any size.")
      .def(nb::new_(&make), nb::arg("signature"), nb::arg("module"), nb::arg("text"),
           nb::arg("facts"), nb::arg("sizes"), nb::arg("dynamic_shared"), nb::arg("scalars"),
           nb::arg("maps"), nb::arg("maps_by_value"), nb::arg("is_programmatic"))
      .def_static(
          "from_bytes",
          [](const nb::bytes& bytes) {
            return unwrap(OpenKernel::from_bytes({bytes.c_str(), bytes.size()}));
          },
          nb::arg("data"))
      .def("to_bytes",
           [](const OpenKernel& kernel) {
             const std::string bytes = unwrap(kernel.to_bytes());
             return nb::bytes(bytes.data(), bytes.size());
           })
      .def(
          "save",
          [](const OpenKernel& kernel, const nb::bytes& path) {
            unwrap(kernel.save({path.c_str(), path.size()}));
          },
          nb::arg("path"))
      .def(
          "add_binary",
          [](OpenKernel& kernel, const std::string& target) {
            auto added = [&] {
              nb::gil_scoped_release release;
              return kernel.add_binary(target);
            }();
            return unwrap(std::move(added), &kernel.text.module->locations);
          },
          nb::arg("target"))
      .def("at", &at, nb::arg("inputs"), nb::arg("outputs").none() = nb::none(),
           "The kernel for tensors of these shapes.")
      .def(
          "at_sizes",
          [](const OpenKernel& kernel, const std::map<std::string, std::int64_t>& sizes) {
            interop::Sizes given;
            for (const auto& [name, size] : sizes) given.add(name, size);
            return unwrap(kernel.at(given));
          },
          nb::arg("sizes"), "The kernel for these sizes of the open dimensions.")
      .def("with_scalars", &with_scalars, nb::arg("bits"),
           "The kernel whose launches bring no scalars: these are its own.")
      .def("output_shapes", &output_shapes, nb::arg("inputs"),
           "Shapes of the outputs for inputs whose sizes may be symbolic.")
      .def_prop_ro("name", [](const OpenKernel& kernel) { return kernel.signature.kernel; })
      .def_prop_ro("ptx", [](const OpenKernel& kernel) { return kernel.text.ptx; })
      .def_prop_ro("inputs", [](const OpenKernel& kernel) { return rows(kernel.signature.inputs); })
      .def_prop_ro("outputs",
                   [](const OpenKernel& kernel) { return rows(kernel.signature.outputs); })
      .def_prop_ro("inouts", [](const OpenKernel& kernel) { return kernel.signature.inouts; })
      .def_prop_ro("scalars", &scalar_rows);
}

}  // namespace pyptx::python
