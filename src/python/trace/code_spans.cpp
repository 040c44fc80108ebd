// SPDX-License-Identifier: Apache-2.0
#include "trace/code_spans.h"

#include <nanobind/nanobind.h>

#include <cstddef>
#include <utility>

#include "pyptx/support/weak_table.h"

namespace pyptx::python {
namespace nb = nanobind;
namespace {

/// The tables in use, by code object. An address that another code object has got since has none:
/// whoever kept the one before has let its table go. The GIL guards it. Never destroyed, as the
/// interpreter may outlive the library's static objects.
support::WeakTable<PyCodeObject*, const CodeSpans>& tables() {
  static auto* const known = new support::WeakTable<PyCodeObject*, const CodeSpans>;
  return *known;
}

int number(PyObject* value, int unknown) {
  return value == Py_None ? unknown : static_cast<int>(PyLong_AsLong(value));
}

CodeSpans read(PyCodeObject* code) {
  CodeSpans out;
  out.first_line = code->co_firstlineno;
  out.file = PyUnicode_AsUTF8(code->co_filename);
  if (out.file == nullptr) {
    PyErr_Clear();
    out.file = "";
  }
  const nb::handle object(reinterpret_cast<PyObject*>(code));
  for (const nb::handle position : object.attr("co_positions")()) {
    PyObject* const four = position.ptr();  // line, end line, column, end column
    CodeSpans::Span span{
        number(PyTuple_GET_ITEM(four, 0), 0), number(PyTuple_GET_ITEM(four, 2), -1),
        number(PyTuple_GET_ITEM(four, 1), 0), number(PyTuple_GET_ITEM(four, 3), -1)};
    const bool is_whole = span.end_line > 0 && span.column >= 0 && span.end_column >= 0;
    if (!is_whole) span = {span.line, -1, 0, -1};
    out.of_instructions.push_back(span);
  }
  return out;
}

}  // namespace

CodeSpans::Span CodeSpans::at(std::uint32_t position) const {
  const std::size_t index = position / sizeof(std::uint16_t);  // of code units
  return index < of_instructions.size() ? of_instructions[index] : Span{};
}

std::shared_ptr<const CodeSpans> spans_of(PyCodeObject* code) {
  if (auto table = tables().find(code)) return table;
  auto table = std::make_shared<const CodeSpans>(read(code));
  tables().set(code, table);
  return table;
}

}  // namespace pyptx::python
