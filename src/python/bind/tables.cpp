// SPDX-License-Identifier: Apache-2.0
//
// Facts of isa/common/ that Python reads: what targets can have, and types as elements of tensors.
// Bindings only.
#include <nanobind/nanobind.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <tuple>
#include <vector>

#include "pyptx/isa/limits.h"
#include "pyptx/isa/type.h"

namespace nb = nanobind;

namespace pyptx::python {
namespace {

std::optional<isa::Limits> limits(std::string_view target) {
  const auto known = isa::Target::parse(target);
  if (!known) return std::nullopt;
  return isa::limits(*known);
}

using Element = std::tuple<std::string_view, std::uint16_t, std::string_view, std::string_view>;

/// Of every type: its name, bits of one in memory, what frameworks call it, and the type of a new
/// array for it; empty where there is none.
std::vector<Element> element_types() {
  std::vector<Element> all;
  for (std::size_t i = 1; i < isa::kTypeCount; ++i) {
    const auto type = static_cast<isa::Type>(i);
    const isa::ElementInfo& element = isa::element(type);
    all.emplace_back(isa::info(type).name, element.bits, element.framework,
                     isa::info(element.stored).name);
  }
  return all;
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
  m.def("element_types", &element_types);
}

}  // namespace pyptx::python
