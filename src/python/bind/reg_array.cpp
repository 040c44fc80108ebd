// SPDX-License-Identifier: Apache-2.0
//
// `_core.Type` and `_core.RegArray`, and the functions of pyptx.reg that make arrays.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pyptx/build/operators.h"
#include "pyptx/support/concat.h"
#include "trace/operands.h"
#include "trace/trace.h"
#include "trace/values.h"

namespace pyptx::python {

void bind_types(nb::module_& m);
void bind_reg_array(nb::module_& m);

namespace {

using build::Reg;
using build::Tracer;

/// Name -> the one object of each type, so that `reg.dtype is f32` holds. The module owns it.
PyObject* type_objects = nullptr;

RegArray array_of(std::vector<Reg> regs, isa::Type type, std::string name) {
  if (name.empty() && !regs.empty()) name = name_of(regs.front());
  return {std::move(regs), type, std::move(name)};
}

std::size_t checked(const RegArray& array, std::int64_t index) {
  const auto size = static_cast<std::int64_t>(array.regs.size());
  if (index < -size || index >= size) {
    throw nb::index_error(
        support::concat("index ", index, " of an array of ", size, " registers").c_str());
  }
  return static_cast<std::size_t>(index < 0 ? index + size : index);
}

/// A number that is known while tracing: registers have no addresses.
std::int64_t number_of(nb::handle index) {
  if (nb::isinstance<Reg>(index)) {
    raise_here(
        diag::Diagnostic(diag::Kind::RegisterValue, {"be the index of an array of registers"})
            .note("a table indexed at run time lies in memory: t = smem.alloc(type, (n,)), "
                  "then t[i]; over a Python `for i in range(n)` each register has its "
                  "number"));
  }
  const Py_ssize_t number = PyNumber_AsSsize_t(index.ptr(), PyExc_IndexError);
  if (number == -1 && PyErr_Occurred() != nullptr) throw nb::python_error();
  return number;
}

nb::object item(const RegArray& array, nb::handle index) {
  if (!PySlice_Check(index.ptr())) return nb::cast(array.regs[checked(array, number_of(index))]);
  const auto [start, stop, step, length] = nb::borrow<nb::slice>(index).compute(array.regs.size());
  RegArray part{{}, array.type, array.base};
  for (std::size_t i = 0; i < length; ++i) {
    part.regs.push_back(
        array.regs[static_cast<std::size_t>(start + step * static_cast<Py_ssize_t>(i))]);
  }
  return nb::cast(std::move(part));
}

/// Whether nobody but the expression being evaluated holds `value`.
bool is_temporary(nb::handle value) {
#if PY_VERSION_HEX >= 0x030E0000
  return PyUnstable_Object_IsUniqueReferencedTemporary(value.ptr()) != 0;
#else
  return Py_REFCNT(value.ptr()) == 1;
#endif
}

void set_item(const RegArray& array, nb::handle index, nb::handle value) {
  write_register(array.regs[checked(array, number_of(index))], value);
}

std::vector<Reg> hw_order(const RegArray& array, bool reverse) {
  std::vector<Reg> regs = array.regs;
  if (reverse) std::ranges::reverse(regs);
  return regs;
}

RegArray make_array(nb::handle type, std::size_t count, const std::optional<std::string>& name) {
  const isa::Type element = to_type(type);
  return array_of(traced([&](Tracer& t) { return t.reg_array(element, count, name.value_or("")); }),
                  element, name.value_or(""));
}

RegArray make_fragment(std::int64_t m, std::int64_t n, nb::handle type,
                       const std::optional<std::string>& name) {
  const isa::Type element = to_type(type);
  return array_of(
      traced([&](Tracer& t) { return build::wgmma_fragment(t, m, n, element, name.value_or("")); }),
      element, name.value_or(""));
}

}  // namespace

void write_register(Reg destination, nb::handle value) {
  const bool may_retarget = nb::isinstance<Reg>(value) && is_temporary(value);
  traced([&](Tracer& t) {
    const build::Value source = need_value(t, value);
    if (may_retarget && t.retarget(*source.reg(), destination)) return;
    build::assign(t, destination, source);
  });
}

nb::object type_object(isa::Type type) {
  const std::string_view name = isa::info(type).name;
  const nb::str key(name.data(), name.size());
  auto known = nb::borrow<nb::dict>(type_objects);
  if (!known.contains(key)) known[key] = nb::cast(TypeObject{type});
  return known[key];
}

void bind_types(nb::module_& m) {
  nb::class_<TypeObject>(m, "Type", "A type of PTX.")
      .def_prop_ro("name", [](TypeObject t) { return std::string(isa::info(t.type).name); })
      .def_prop_ro("bits", [](TypeObject t) { return isa::info(t.type).bits; })
      .def_prop_ro("ptx", [](TypeObject t) { return support::concat(".", isa::info(t.type).name); })
      .def("__repr__", [](TypeObject t) { return std::string(isa::info(t.type).name); })
      .def("__reduce__", [](TypeObject t) {
        return nb::make_tuple(nb::module_::import_("pyptx.types").attr("from_name"),
                              nb::make_tuple(std::string(isa::info(t.type).name)));
      });
  const nb::dict objects;
  type_objects = objects.ptr();
  m.attr("_types") = objects;
  m.def(
      "type_named",
      [](const std::string& name) { return type_object(to_type(nb::str(name.c_str()))); },
      nb::arg("name"), "The type called `name`.");
}

void bind_reg_array(nb::module_& m) {
  using namespace nb::literals;
  nb::class_<RegArray> array(m, "RegArray", "Registers of one type.");
  array.def("__getitem__", &item)
      .def("__setitem__", &set_item)
      .def("__len__", [](const RegArray& a) { return a.regs.size(); })
      .def("__iter__", [](const RegArray& a) { return nb::iter(nb::cast(a.regs)); })
      .def("regs", [](const RegArray& a) { return a.regs; })
      .def_prop_ro("count", [](const RegArray& a) { return a.regs.size(); })
      .def_ro("base", &RegArray::base)
      .def_prop_ro("dtype", [](const RegArray& a) { return type_object(a.type); })
      .def("hw_order", &hw_order, "reverse"_a = false);
  register_operand(array, [](Tracer& t, nb::handle v) {
    const auto& regs = nb::cast<RegArray&>(v).regs;
    return t.vector(std::vector<ir::Operand>(regs.begin(), regs.end()));
  });
  nb::object reg_module = m.def_submodule("reg");
  auto reg = nb::borrow<nb::module_>(reg_module);
  reg.def("array", &make_array, "dtype"_a, "count"_a, "name"_a = nb::none(),
          "`count` fresh registers; a name makes them a pool of their own.");
  reg.def("alloc_array", &make_array, "dtype"_a, "count"_a, "name"_a = nb::none(),
          "`count` fresh registers.");
  reg.def("wgmma_frag", &make_fragment, nb::kw_only(), "m"_a, "n"_a, "dtype"_a,
          "name"_a = nb::none(), "The m*n/128 accumulator registers of a wgmma.");
}

}  // namespace pyptx::python
