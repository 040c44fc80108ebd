// SPDX-License-Identifier: Apache-2.0
//
// Signatures of kernels as Python objects: binding a call's arrays, and composing what it launches.
// Bindings: what is decided, interop decides.
#include <nanobind/nanobind.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "bind/runtime.h"
#include "bind/tile.h"
#include "errors.h"
#include "module/object.h"
#include "pyptx/interop/bind.h"
#include "pyptx/interop/compose.h"
#include "pyptx/interop/launch_limits.h"
#include "pyptx/interop/signature.h"
#include "pyptx/isa/type.h"
#include "trace/values.h"

namespace pyptx::python {
namespace {

using interop::Signature;
using NameList = std::vector<std::string>;
using Multiples = std::vector<std::pair<std::string, std::int64_t>>;
using RawParameters = std::vector<std::pair<std::string, std::string>>;

Signature make_signature(std::string kernel, const NameList& tensors, const nb::object& in_specs,
                         const nb::object& out_specs, const RawParameters& scalars,
                         std::optional<std::string> batch, const Multiples& multiples,
                         std::size_t inouts, std::string out_init) {
  Signature out{.kernel = std::move(kernel), .inputs = {}, .outputs = {}};
  std::size_t next = 0;
  for (const nb::handle spec : in_specs) out.inputs.push_back({tensors.at(next++), tile_of(spec)});
  for (const nb::handle spec : out_specs) {
    out.outputs.push_back({tensors.at(next++), tile_of(spec)});
  }
  for (const auto& [type, name] : scalars) out.scalars.push_back({type, name});
  out.batch = std::move(batch).value_or("");
  for (const auto& [dimension, of] : multiples) out.multiples.push_back({dimension, of});
  out.inouts = inouts;
  out.out_init = std::move(out_init);
  unwrap(out.check());
  return out;
}

void add_to(nb::dict& values, const interop::Sizes& sizes, const PythonSizes& rules) {
  for (const auto& [name, size] : sizes) {
    const nb::str key(name.c_str(), name.size());
    if (!values.contains(key)) values[key] = rules.object(size);
  }
}

/// The types that `values` has for the names in a signature.
interop::Types types_of(const Signature& signature, const nb::dict& values) {
  interop::Types out;
  for (std::size_t i = 0; i < signature.tensor_count(); ++i) {
    const std::string& name = signature.tensor(i).tile.dtype;
    if (!interop::is_type_name(name) || out.find(name)) continue;
    const nb::str key(name.c_str(), name.size());
    if (values.contains(key)) out.add(name, nb::cast<std::string>(values[key].attr("name")));
  }
  return out;
}

/// Types are what authors write: objects of pyptx.types.
void add_to(nb::dict& values, const interop::Types& types) {
  for (const auto& [name, type] : types) {
    const nb::str key(name.c_str(), name.size());
    if (!values.contains(key)) values[key] = type_object(*isa::find_type(type));
  }
}

nb::dict bind_inputs(const Signature& signature, const nb::object& arrays) {
  PythonSizes rules;
  const auto described = arrays_of(arrays, rules);
  const auto bound = unwrap(interop::bind_inputs(signature, described, rules));
  nb::dict out;
  add_to(out, bound.sizes, rules);
  add_to(out, bound.types);
  return out;
}

void bind_outputs(const Signature& signature, const nb::object& arrays, nb::dict values,
                  std::string_view device) {
  PythonSizes rules;
  const auto described = arrays_of(arrays, rules);
  interop::Bound bound{{}, types_of(signature, values)};
  for (const auto& [name, value] : values) {
    const auto text = nb::cast<std::string>(name);
    if (!bound.types.find(text)) bound.sizes.add(text, rules.add(value));
  }
  unwrap(interop::bind_outputs(signature, described, bound, device, rules));
  add_to(values, bound.sizes, rules);
  add_to(values, bound.types);
}

nb::list output_shapes(const Signature& signature, const nb::dict& values) {
  PythonSizes rules;
  std::vector<interop::Dimension> dims;
  for (const interop::Argument& output : signature.outputs) {
    dims.insert(dims.end(), output.tile.dims.begin(), output.tile.dims.end());
  }
  nb::list out;
  for (const auto& shape : unwrap(signature.output_shapes(rules.add_values(values, dims)))) {
    out.append(rules.tuple(shape));
  }
  return out;
}

/// Shape and element type of a tensor that is known by its tile alone.
nb::tuple declared(const Signature& signature, std::size_t tensor, const nb::dict& values) {
  PythonSizes rules;
  const auto found =
      unwrap(signature.fact(tensor, {rules.add_values(values, signature.tensor(tensor).tile.dims),
                                     types_of(signature, values)}));
  return nb::make_tuple(rules.tuple(found.first), found.second);
}

/// The map that a launch will pass for a tensor, None where there can be none.
std::optional<layout::TensorMap> map_of(const Signature& signature, std::size_t tensor,
                                        const interop::Shape& shape, std::string_view dtype) {
  auto made = signature.tensor(tensor).tile.map(shape, dtype);
  return made ? std::optional(*made) : std::nullopt;
}

/// Grid, block and cluster.
using Sizes3 = std::array<Triple, 3>;
/// Shapes, element types and strides.
using FactsTuple = std::tuple<std::vector<interop::Shape>, NameList, std::vector<interop::Shape>>;
/// PTX and its target.
using TextPair = std::pair<std::string, std::string>;
using ScalarBits = std::vector<std::optional<std::uint64_t>>;

std::shared_ptr<interop::KernelImage> compose_image(const Signature& signature,
                                                    const ModuleObject& module, TextPair text,
                                                    FactsTuple facts, const Sizes3& sizes,
                                                    std::uint32_t dynamic_shared,
                                                    const ScalarBits& scalars, const NameList& maps,
                                                    bool maps_by_value, bool is_programmatic) {
  interop::KernelLaunch launch{.grid = dim3(sizes[0]),
                               .block = dim3(sizes[1]),
                               .cluster = dim3(sizes[2]),
                               .dynamic_shared = dynamic_shared,
                               .maps_by_value = maps_by_value,
                               .is_programmatic = is_programmatic};
  for (std::size_t i = 0; i < scalars.size(); ++i) {
    if (!scalars[i]) continue;
    launch.scalars.push_back(
        {signature.scalars.at(i).name, interop::Number::of_bits(*scalars[i]), true});
  }
  for (const std::string& tensor : maps) launch.maps.push_back({tensor});
  return unwrap(interop::make_image(
      {module.module, std::move(text.first), std::move(text.second)}, signature,
      {std::move(std::get<0>(facts)), std::move(std::get<1>(facts)), std::move(std::get<2>(facts))},
      launch));
}

std::vector<interop::SavedTensor> bound_tensors(const nb::object& tensors) {
  std::vector<interop::SavedTensor> out;
  for (const nb::handle tensor : tensors) {
    out.push_back({nb::cast<std::string>(tensor.attr("name")),
                   nb::cast<std::string>(tensor.attr("dtype")),
                   nb::cast<interop::Shape>(tensor.attr("shape")),
                   nb::cast<std::uint64_t>(tensor.attr("nbytes")),
                   nb::cast<bool>(tensor.attr("is_column_major"))});
  }
  return out;
}

void check_bound(std::string_view kernel, const nb::object& inputs, const nb::object& outputs,
                 const std::vector<std::uint32_t>& mapped, std::optional<std::string> device,
                 const nb::object& given, const nb::object& given_outputs) {
  PythonSizes rules;
  const auto takes = bound_tensors(inputs);
  const auto gives = bound_tensors(outputs);
  const auto got = arrays_of(given, rules);
  std::vector<interop::Array> written;
  const bool has_outputs = !given_outputs.is_none();
  if (has_outputs) written = arrays_of(given_outputs, rules);
  const interop::BoundTo bound{kernel, takes, gives, mapped, std::move(device)};
  unwrap(interop::check_bound(
      bound, got,
      has_outputs ? std::optional(std::span<const interop::Array>(written)) : std::nullopt));
}

void bind_limits(nb::module_& m) {
  using interop::Extents;
  m.def(
      "check_block",
      [](std::string_view what, const Extents& block) {
        unwrap(interop::check_block(what, block));
      },
      nb::arg("what"), nb::arg("block"), "Refuse a block that no target can run.");
  m.def(
      "check_cluster",
      [](std::string_view what, const Extents& cluster) {
        unwrap(interop::check_cluster(what, cluster));
      },
      nb::arg("what"), nb::arg("cluster"), "Refuse a cluster that no target can run.");
  m.def(
      "check_shared",
      [](std::string_view what, std::string_view target, std::uint64_t bytes) {
        unwrap(interop::check_shared(what, target, bytes));
      },
      nb::arg("what"), nb::arg("target"), nb::arg("bytes"),
      "Refuse more shared memory than a CTA of the target can have.");
  m.def(
      "check_mapped",
      [](std::string_view kernel, std::string_view argument, std::uint64_t address) {
        unwrap(interop::check_mapped(kernel, argument, address));
      },
      nb::arg("kernel"), nb::arg("argument"), nb::arg("address"),
      "Refuse an array whose address no tensor map can hold.");
}

}  // namespace

void bind_signature(nb::module_& m) {
  nb::class_<Signature>(m, "Signature", "What a kernel declares: tensors behind tiles, scalars.")
      .def(nb::new_(&make_signature), nb::arg("kernel"), nb::arg("tensors"), nb::arg("in_specs"),
           nb::arg("out_specs"), nb::arg("raw_params"), nb::arg("batch").none() = nb::none(),
           nb::arg("multiples") = Multiples(), nb::arg("inouts") = 0, nb::arg("out_init") = "")
      .def("bind_inputs", &bind_inputs, nb::arg("arrays"),
           "Check the inputs and return the values of the symbolic dimensions.")
      .def("bind_outputs", &bind_outputs, nb::arg("arrays"), nb::arg("values"), nb::arg("device"),
           "Check arrays to write to, and add the dimensions that only they have to `values`.")
      .def(
          "check_written",
          [](const Signature& signature, const nb::object& arrays) {
            PythonSizes rules;
            unwrap(interop::check_written(signature, arrays_of(arrays, rules)));
          },
          nb::arg("arrays"), "Refuse in-out tensors and outputs of a call that share memory.")
      .def("output_shapes", &output_shapes, nb::arg("values"))
      .def(
          "output_types",
          [](const Signature& signature, const nb::dict& values) {
            return unwrap(signature.output_types(types_of(signature, values)));
          },
          nb::arg("values"))
      .def(
          "type_of",
          [](const Signature& signature, std::size_t tensor, const nb::dict& values) {
            return unwrap(signature.type_of(tensor, types_of(signature, values)));
          },
          nb::arg("tensor"), nb::arg("values"),
          "The element type of a tensor: that of its Tile, or what the values say for its name.")
      .def("declared", &declared, nb::arg("tensor"), nb::arg("values"),
           "Shape and element type of a dense tensor that its Tile and the values describe.")
      .def(
          "check_empty_grid",
          [](const Signature& signature, const std::array<std::int64_t, 3>& grid,
             const std::vector<interop::Shape>& shapes) {
            unwrap(interop::check_empty_grid(signature, grid, shapes));
          },
          nb::arg("grid"), nb::arg("shapes"),
          "Refuse a grid that launches nothing where there is something to write.")
      .def("map_of", &map_of, nb::arg("tensor"), nb::arg("shape"), nb::arg("dtype"),
           "The map that a launch will pass for a tensor; None where there can be none.")
      .def("image", &compose_image, nb::arg("module"), nb::arg("text"), nb::arg("facts"),
           nb::arg("sizes"), nb::arg("dynamic_shared"), nb::arg("scalars"), nb::arg("maps"),
           nb::arg("maps_by_value"), nb::arg("is_programmatic"),
           "The image of a trace. `text` is its PTX and target, `facts` are shapes, element "
           "types and strides (none: dense), `sizes` grid, block and "
           "cluster; `scalars` are the bits of the raw parameters; None: each launch "
           "brings them.");
  m.def("check_bound", &check_bound, nb::arg("kernel"), nb::arg("inputs"), nb::arg("outputs"),
        nb::arg("mapped"), nb::arg("device").none(), nb::arg("given"),
        nb::arg("given_outputs").none(), "Refuse arrays that a kernel was not bound to.");
  m.def(
      "with_scalars",
      [](const interop::KernelImage& image, const std::vector<std::uint64_t>& bits) {
        return unwrap(interop::with_scalars(image, bits));
      },
      nb::arg("image"), nb::arg("bits"),
      "The image whose launches bring no scalars: these bits are its own.");
  bind_limits(m);
}

}  // namespace pyptx::python
