// SPDX-License-Identifier: Apache-2.0
//
// Kernels of torch graphs as Python objects, and the operators that launch them. One that a
// compiled program names is tied to the author's: before each launch the guards of the trace are
// asked, in C, and only a change goes to Python.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <memory>
#include <string>
#include <utility>

#include "bind/runtime.h"
#include "call/guards.h"
#include "errors.h"
#include "pyptx/interop/graph_kernel.h"
#include "pyptx/interop/torch_op.h"

namespace pyptx::python {
namespace {

using interop::GraphKernel;
using interop::GraphKernels;

struct GraphKernelObject {
  std::shared_ptr<const GraphKernel> kernel;
};

/// What was raised, as text, and nothing raised any more.
std::string taken_error() {
  nb::python_error error;
  return nb::cast<std::string>(nb::str(error.value()));
}

/// A kernel that is watched: `refresh()` returns (kernel, guards) after a change.
class WatchedKernel : public interop::KernelSource {
 public:
  WatchedKernel(GraphKernelObject kernel, nb::object guards, nb::object refresh)
      : kernel_(std::move(kernel.kernel)),
        guards_(std::move(guards)),
        refresh_(std::move(refresh)) {}
  ~WatchedKernel() override {
    const nb::gil_scoped_acquire gil;
    guards_.reset();
    refresh_.reset();
  }
  WatchedKernel(const WatchedKernel&) = delete;
  WatchedKernel& operator=(const WatchedKernel&) = delete;

  diag::Result<std::shared_ptr<const GraphKernel>> current() override {
    const nb::gil_scoped_acquire gil;
    if (guards_hold(guards_.ptr())) return kernel_;
    PyObject* answer = PyObject_CallNoArgs(refresh_.ptr());
    if (answer == nullptr) {
      return diag::fail(diag::Kind::StaleKernel,
                        {kernel_->saved().image->plan().entry, taken_error()});
    }
    const nb::tuple pair = nb::steal<nb::tuple>(answer);
    kernel_ = nb::cast<const GraphKernelObject&>(pair[0]).kernel;
    guards_ = nb::object(pair[1]);
    return kernel_;
  }

 private:
  // Used with the interpreter's lock held.
  std::shared_ptr<const GraphKernel> kernel_;
  nb::object guards_;
  nb::object refresh_;
};

void add_kernel(std::string name, const GraphKernelObject& kernel) {
  GraphKernels::instance().add(std::move(name), kernel.kernel);
}

void watch_kernel(std::string name, const GraphKernelObject& kernel, nb::object guards,
                  nb::object refresh) {
  if (!is_guards(guards.ptr())) throw nb::type_error("guards is a _core.Guards");
  GraphKernels::instance().add(
      std::move(name), kernel.kernel,
      std::make_shared<WatchedKernel>(kernel, std::move(guards), std::move(refresh)));
}

GraphKernelObject find_kernel(const std::string& text) {
  auto found = [&] {
    // A source takes the interpreter's lock by itself.
    nb::gil_scoped_release release;
    return GraphKernels::instance().find(text);
  }();
  return {unwrap(std::move(found))};
}

}  // namespace

void bind_torch_op(nb::module_& m) {
  nb::class_<GraphKernelObject>(m, "GraphKernel")
      .def(
          "__init__",
          [](GraphKernelObject* self, const interop::SavedKernel& saved) {
            new (self) GraphKernelObject{unwrap(GraphKernel::make(saved))};
          },
          nb::arg("saved"))
      .def_static("find", &find_kernel, nb::arg("text"))
      .def_prop_ro("name", [](const GraphKernelObject& self) { return self.kernel->name(); })
      .def_prop_ro("text", [](const GraphKernelObject& self) { return self.kernel->text(); })
      .def_prop_ro("saved", [](const GraphKernelObject& self) { return self.kernel->saved(); });
  m.def("add_graph_kernel", &add_kernel, nb::arg("name"), nb::arg("kernel"));
  m.def("watch_graph_kernel", &watch_kernel, nb::arg("name"), nb::arg("kernel"), nb::arg("guards"),
        nb::arg("refresh"));
  m.def("register_torch_operators",
        [] { unwrap(interop::register_torch_operators(/*define=*/false)); });
  m.attr("TORCH_SCHEMAS") = nb::make_tuple(
      interop::kTorchLaunchSchema, interop::kTorchLaunchOneSchema, interop::kTorchLaunchOutSchema);
}

}  // namespace pyptx::python
