// SPDX-License-Identifier: Apache-2.0
//
// Saved kernels as Python objects: their bytes and files, and preparing them on a device. Bindings
// only.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "bind/runtime.h"
#include "errors.h"
#include "pyptx/interop/open_kernel.h"
#include "pyptx/interop/saved.h"

namespace pyptx::python {
namespace {

using interop::SavedKernel;
using interop::SavedTensor;
/// name, dtype, shape, bytes, column_major
using TensorRow =
    std::tuple<std::string, std::string, std::vector<std::int64_t>, std::uint64_t, bool>;

std::vector<SavedTensor> tensors(const std::vector<TensorRow>& rows) {
  std::vector<SavedTensor> out;
  out.reserve(rows.size());
  for (const auto& [name, dtype, shape, bytes, column_major] : rows) {
    out.push_back({name, dtype, shape, bytes, column_major});
  }
  return out;
}

std::vector<TensorRow> rows(const std::vector<SavedTensor>& tensors) {
  std::vector<TensorRow> out;
  out.reserve(tensors.size());
  for (const SavedTensor& tensor : tensors) {
    out.emplace_back(tensor.name, tensor.dtype, tensor.shape, tensor.bytes, tensor.column_major);
  }
  return out;
}

/// name, type, bits of the default
using ScalarRow = std::tuple<std::string, std::string, std::optional<std::uint64_t>>;

std::vector<interop::ScalarParameter> scalars(const std::vector<ScalarRow>& rows) {
  std::vector<interop::ScalarParameter> out;
  out.reserve(rows.size());
  for (const auto& [name, type, value] : rows) {
    const interop::ScalarType* found = interop::find_scalar_type(type);
    if (found == nullptr) throw nb::value_error(("no parameter has the type " + type).c_str());
    out.push_back({name, found, value});
  }
  return out;
}

std::vector<ScalarRow> scalar_rows(const SavedKernel& kernel) {
  std::vector<ScalarRow> out;
  out.reserve(kernel.scalars.size());
  for (const interop::ScalarParameter& scalar : kernel.scalars) {
    out.emplace_back(scalar.name, scalar.type->name, scalar.value);
  }
  return out;
}

std::vector<std::string> binary_targets(const SavedKernel& kernel) {
  std::vector<std::string> out;
  out.reserve(kernel.binaries.size());
  for (const SavedKernel::Binary& binary : kernel.binaries) out.push_back(binary.target);
  return out;
}

std::string add_binary(SavedKernel& kernel, const std::string& target,
                       std::vector<std::string> flags) {
  auto added = [&] {
    nb::gil_scoped_release release;
    return kernel.add_binary(target, std::move(flags));
  }();
  return unwrap(std::move(added), kernel.image->locations().get());
}

nb::bytes saved_bytes(const SavedKernel& kernel) {
  const std::string bytes = unwrap(kernel.to_bytes());
  return nb::bytes(bytes.data(), bytes.size());
}

void prepare(interop::KernelImage& image, int device) {
  auto prepared = [&] {
    nb::gil_scoped_release release;
    return interop::prepare(image, device);
  }();
  unwrap(prepared, image.locations().get());
}

void decode(interop::KernelImage& image) {
  auto decoded = [&] {
    nb::gil_scoped_release release;
    return image.program();
  }();
  unwrap(std::move(decoded), image.locations().get());
}

}  // namespace

void bind_saved(nb::module_& m) {
  m.def(
      "load_kernel",
      [](const nb::bytes& path) -> nb::object {
        auto kernel = unwrap(interop::load_any({path.c_str(), path.size()}));
        return std::visit([](auto& k) { return nb::cast(std::move(k)); }, kernel);
      },
      nb::arg("path"), "What a file holds: a SavedKernel or an OpenKernel.");
  nb::class_<SavedKernel>(m, "SavedKernel")
      .def(
          "__init__",
          [](SavedKernel* self, std::shared_ptr<interop::KernelImage> image,
             const std::vector<TensorRow>& inputs, const std::vector<TensorRow>& outputs,
             const std::vector<ScalarRow>& values, std::size_t inouts) {
            new (self) SavedKernel{std::move(image),
                                   tensors(inputs),
                                   tensors(outputs),
                                   scalars(values),
                                   {},
                                   false,
                                   inouts};
          },
          nb::arg("image"), nb::arg("inputs"), nb::arg("outputs"),
          nb::arg("scalars") = std::vector<ScalarRow>{}, nb::arg("inouts") = 0)
      .def_static(
          "from_bytes",
          [](const nb::bytes& bytes) {
            return unwrap(SavedKernel::from_bytes({bytes.c_str(), bytes.size()}));
          },
          nb::arg("data"))
      .def("to_bytes", &saved_bytes)
      .def(
          "save",
          [](const SavedKernel& k, const nb::bytes& path) {
            unwrap(k.save({path.c_str(), path.size()}));
          },
          nb::arg("path"))
      .def("add_binary", &add_binary, nb::arg("target"),
           nb::arg("flags") = std::vector<std::string>{})
      .def_ro("image", &SavedKernel::image)
      .def_prop_ro("name", [](const SavedKernel& k) { return k.image->plan().entry; })
      .def_prop_ro("inputs", [](const SavedKernel& k) { return rows(k.inputs); })
      .def_prop_ro("outputs", [](const SavedKernel& k) { return rows(k.outputs); })
      .def_prop_ro("scalars", &scalar_rows)
      .def_prop_ro("targets", &binary_targets)
      .def_ro("is_empty", &SavedKernel::is_empty)
      .def_ro("inouts", &SavedKernel::inouts);
  m.def("prepare", &prepare, nb::arg("image"), nb::arg("device"));
  m.def("decode", &decode, nb::arg("image"));
}

}  // namespace pyptx::python
