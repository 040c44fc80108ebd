// SPDX-License-Identifier: Apache-2.0
//
// Kernels that torch graphs carry, as Python objects, and the operators that launch them. Bindings
// only.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <string>
#include <utility>

#include "bind/runtime.h"
#include "errors.h"
#include "pyptx/interop/graph_kernel.h"
#include "pyptx/interop/torch_op.h"

namespace pyptx::python {
namespace {

/// A kernel of a graph: for one size, or for any.
nb::object find_kernel(const std::string& text) {
  auto found = unwrap([&] {
    nb::gil_scoped_release release;
    return interop::GraphKernels::instance().find(text);
  }());
  if (found.open != nullptr) return nb::cast(found.open->open());
  return nb::cast(found.kernel->saved());
}

}  // namespace

void bind_torch_op(nb::module_& m) {
  m.def("carried_kernel", &find_kernel, nb::arg("text"),
        "The kernel that a program carries as this text: a SavedKernel or an OpenKernel.");
  m.def("register_torch_operators",
        [] { unwrap(interop::register_torch_operators(/*define=*/false)); });
  m.attr("TORCH_SCHEMAS") = nb::make_tuple(
      interop::kTorchLaunchSchema, interop::kTorchLaunchOneSchema, interop::kTorchLaunchOutSchema);
}

}  // namespace pyptx::python
