// SPDX-License-Identifier: Apache-2.0
//
// ptx.special.tid.x() and its like: any special register of the table, read into a fresh register.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <cstddef>
#include <string>
#include <vector>

#include "pyptx/build/memory.h"
#include "pyptx/support/concat.h"
#include "pyptx/support/nearest.h"
#include "trace/trace.h"

namespace pyptx::python {
namespace nb = nanobind;

void bind_special(nb::module_& ptx);

namespace {

using build::Tracer;
using support::concat;

/// `special` itself (no name), `special.tid`, `special.tid.x`.
struct SpecialNode {
  std::string name;
};

/// Says what may have been meant. The error names no attribute: Python 3.12 would add a suggestion
/// of its own.
[[noreturn]] void refuse(const std::string& name) {
  using namespace nb::literals;
  std::vector<std::string> known;
  for (const std::string& full : isa::special_register_names()) {
    known.push_back(name.find('.') == std::string::npos ? full.substr(0, full.find('.')) : full);
  }
  std::string message = concat("there is no special register '", name, "'");
  const auto close = support::nearest(name, known);
  for (std::size_t i = 0; i < close.size(); ++i) {
    message += concat(i == 0 ? "; did you mean " : " or ", close[i]);
  }
  const nb::object error =
      nb::handle(PyExc_AttributeError)(message, "name"_a = nb::none(), "obj"_a = nb::none());
  PyErr_SetObject(PyExc_AttributeError, error.ptr());
  throw nb::python_error();
}

/// Kept as an attribute, so that it is made once.
nb::object step(nb::handle self, const std::string& attribute) {
  const SpecialNode& node = *nb::inst_ptr<SpecialNode>(self);
  const std::string name =
      node.name.empty() ? concat("%", attribute) : concat(node.name, ".", attribute);
  const bool is_component = attribute == "x" || attribute == "y" || attribute == "z";
  const auto which = isa::find_special_register(node.name.empty() ? name : node.name);
  const bool is_known =
      which && (node.name.empty() || (is_component && isa::info(*which).is_vector));
  if (!is_known) refuse(name);
  nb::object child = nb::cast(SpecialNode{name});
  nb::setattr(self, attribute.c_str(), child);
  return child;
}

build::Reg read(const std::string& name) {
  return traced([&](Tracer& t) { return build::special(t, name); });
}

}  // namespace

void bind_special(nb::module_& ptx) {
  nb::class_<SpecialNode>(ptx, "Special", nb::dynamic_attr(), "Special registers by name.")
      .def("__getattr__", &step)
      .def("__call__", [](const SpecialNode& node) { return read(node.name); })
      .def("__repr__", [](const SpecialNode& node) { return concat("ptx.special ", node.name); });
  ptx.attr("special") = nb::cast(SpecialNode{});
  ptx.def("sreg", &read, nb::arg("name"), "The value of the special register `name`.");
  ptx.def("ctaid_x", []() { return read("%ctaid.x"); }, "The value of %ctaid.x.");
  ptx.def("ctaid_y", []() { return read("%ctaid.y"); }, "The value of %ctaid.y.");
}

}  // namespace pyptx::python
