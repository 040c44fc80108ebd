// SPDX-License-Identifier: Apache-2.0
#include "trace/code_spans.h"

#include <nanobind/nanobind.h>

#include <algorithm>
#include <cstddef>
#include <unordered_map>
#include <utility>

namespace pyptx::python {
namespace nb = nanobind;
namespace {

/// The tables in use, by code object. An address that another code object has got since has none:
/// whoever kept the one before has let its table go. The GIL guards it. Never destroyed, as the
/// interpreter may outlive the library's static objects.
struct Known {
  std::unordered_map<PyCodeObject*, std::weak_ptr<const CodeSpans>> tables;
  std::size_t looked_through_at = 64;

  static Known& instance() {
    static auto* const known = new Known;
    return *known;
  }

  void add(PyCodeObject* code, const std::shared_ptr<const CodeSpans>& table) {
    if (tables.size() >= looked_through_at) {
      std::erase_if(tables, [](const auto& entry) { return entry.second.expired(); });
      looked_through_at = std::max<std::size_t>(64, 2 * tables.size());
    }
    tables[code] = table;
  }
};

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
  Known& known = Known::instance();
  if (const auto found = known.tables.find(code); found != known.tables.end()) {
    if (auto table = found->second.lock()) return table;
  }
  auto table = std::make_shared<const CodeSpans>(read(code));
  known.add(code, table);
  return table;
}

}  // namespace pyptx::python
