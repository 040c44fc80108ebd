// SPDX-License-Identifier: Apache-2.0
#include "trace/inst_node.h"

#include <nanobind/stl/string.h>

#include <cctype>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "errors.h"
#include "pyptx/support/concat.h"
#include "trace/operands.h"
#include "trace/trace.h"

namespace pyptx::python {
namespace nb = nanobind;
namespace {

const isa::Spelling* spelling_of(InstNode& node, build::Tracer& tracer) {
  if (node.spelling == nullptr) {
    auto found = isa::spell(node.text);
    if (found) {
      node.spelling = *found;
    } else {
      tracer.report(std::move(found.error()));
    }
  }
  return node.spelling;
}

bool takes_label(const isa::Spelling& spelling, std::size_t index) {
  const auto& operands = spelling.candidates.front().operands;
  return index < operands.size() && isa::has(operands[index].accept, isa::Accept::Label);
}

/// The operands, the guard, and one instruction.
void emit(InstNode& node, build::Tracer& tracer, PyObject* args, PyObject* kwargs) {
  const isa::Spelling* spelling = spelling_of(node, tracer);
  if (spelling == nullptr) return;
  const auto count = static_cast<std::size_t>(PyTuple_GET_SIZE(args));
  std::vector<ir::Operand> operands;
  operands.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    const nb::handle value = PyTuple_GET_ITEM(args, static_cast<Py_ssize_t>(i));
    if (PyUnicode_Check(value.ptr()) && takes_label(*spelling, i)) {
      operands.push_back(ir::Operand::label(tracer.named_label(nb::cast<std::string>(value))));
    } else {
      operands.push_back(to_operand_of(tracer, *spelling, i, value));
    }
  }
  build::Guard guard;
  if (kwargs != nullptr) {
    PyObject* key = nullptr;
    PyObject* value = nullptr;
    Py_ssize_t position = 0;
    while (PyDict_Next(kwargs, &position, &key, &value) != 0) {
      if (PyUnicode_CompareWithASCIIString(key, "pred") != 0) {
        throw nb::type_error(support::concat("ptx.inst.", node.text,
                                             "() takes only operands and 'pred', got '",
                                             nb::str(nb::handle(key)).c_str(), "'")
                                 .c_str());
      }
      guard = to_guard(tracer, value);
    }
  }
  tracer.emit(spelling, operands, guard);
}

/// The type's call slot: no overload resolution between the interpreter and emit().
PyObject* call(PyObject* self, PyObject* args, PyObject* kwargs) noexcept {
  return with_python_errors([&] {
    build::Tracer& tracer = needed_trace(true).tracer;
    emit(*nb::inst_ptr<InstNode>(self), tracer, args, kwargs);
    check(tracer);
    PyObject* first = PyTuple_GET_SIZE(args) > 0 ? PyTuple_GET_ITEM(args, 0) : Py_None;
    return Py_NewRef(nb::isinstance<build::Reg>(first) ? first : Py_None);
  });
}

nb::object step(nb::handle self, const std::string& attribute) {
  if (attribute.starts_with("__")) throw nb::attribute_error(attribute.c_str());
  const InstNode& node = *nb::inst_ptr<InstNode>(self);
  const std::string name = ptx_name(attribute);
  nb::object child =
      nb::cast(InstNode{node.text.empty() ? name : support::concat(node.text, ".", name)});
  nb::setattr(self, attribute.c_str(), child);
  return child;
}

/// A ratio is written with an underscore (sp__2_4), which other words have as a letter of their own
/// (warpx2__01_23): it is a colon where the table knows the word with one.
std::string with_ratio(std::string name) {
  if (name.find("::") == std::string::npos || isa::find_modifier(name)) return name;
  std::string ratio = name;
  for (std::size_t i = 1; i + 1 < ratio.size(); ++i) {
    const auto is_digit = [&](std::size_t at) {
      return std::isdigit(static_cast<unsigned char>(ratio[at])) != 0;
    };
    if (ratio[i] == '_' && is_digit(i - 1) && is_digit(i + 1)) ratio[i] = ':';
  }
  return isa::find_modifier(ratio) ? ratio : name;
}

PyType_Slot slots[] = {{Py_tp_call, reinterpret_cast<void*>(call)}, {0, nullptr}};

}  // namespace

std::string ptx_name(std::string_view attribute) {
  if (attribute.size() > 1 && attribute.ends_with('_')) attribute.remove_suffix(1);
  if (attribute.size() > 1 && attribute.front() == '_' &&
      std::isdigit(static_cast<unsigned char>(attribute[1])) != 0) {
    attribute.remove_prefix(1);
  }
  std::string name;
  for (std::size_t i = 0; i < attribute.size(); ++i) {
    if (i > 0 && attribute.substr(i).starts_with("__")) {
      name += "::";
      ++i;
    } else {
      name += attribute[i];
    }
  }
  return with_ratio(std::move(name));
}

void bind_inst(nb::module_& m) {
  nb::class_<InstNode>(m, "InstNode", nb::dynamic_attr(), nb::type_slots(slots),
                       "An opcode with modifiers; call it with the operands to emit it.")
      .def("__getattr__", &step)
      .def("__repr__",
           [](const InstNode& node) { return support::concat("ptx.inst.", node.text); });
}

}  // namespace pyptx::python
