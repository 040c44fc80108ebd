// SPDX-License-Identifier: Apache-2.0
//
// Facts of isa/common/ that Python reads: what targets can have. Bindings only.
#include <nanobind/nanobind.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <string_view>

#include "pyptx/isa/limits.h"

namespace nb = nanobind;

namespace pyptx::python {
namespace {

std::optional<isa::Limits> limits(std::string_view target) {
  const auto known = isa::Target::parse(target);
  if (!known) return std::nullopt;
  return isa::limits(*known);
}

}  // namespace

void bind_tables(nb::module_& m) {
  using isa::Limits;
  nb::class_<Limits>(m, "Limits")
      .def_ro("grid", &Limits::grid)
      .def_ro("block", &Limits::block)
      .def_ro("threads", &Limits::threads)
      .def_ro("cluster", &Limits::cluster)
      .def_ro("warps", &Limits::warps)
      .def_ro("ctas", &Limits::ctas)
      .def_ro("barriers", &Limits::barriers)
      .def_ro("registers", &Limits::registers)
      .def_ro("shared", &Limits::shared)
      .def_ro("cta_shared", &Limits::cta_shared)
      .def_ro("static_shared", &Limits::static_shared)
      .def_ro("shared_reserved", &Limits::shared_reserved)
      .def_ro("thread_registers", &Limits::thread_registers)
      .def_ro("local", &Limits::local)
      .def_ro("constant", &Limits::constant)
      .def_ro("parameters", &Limits::parameters);
  m.def("target_names", &isa::target_names);
  m.def("limits", &limits, nb::arg("target"));
  m.def("largest_limits", [] { return isa::kLargestLimits; });
}

}  // namespace pyptx::python
