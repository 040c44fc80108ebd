// SPDX-License-Identifier: Apache-2.0
//
// What the instructions of a Python code object span in its source (PEP 657). Python finds one by
// walking the code's table from its start, so the table is read once, for as long as anybody needs
// it: all specialisations of a kernel have the same code.
#pragma once

#include <Python.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace pyptx::python {

struct CodeSpans {
  /// Lines from 1, 0 where there is none; columns in bytes from 0, -1 where there are none.
  struct Span {
    int line = 0;
    int column = -1;
    int end_line = 0;
    int end_column = -1;
  };

  const char* file = "";  // the code object's
  int first_line = 0;
  std::vector<Span> of_instructions;

  /// Of the instruction at this byte.
  Span at(std::uint32_t position) const;
};

/// Needs the GIL. Who keeps the result must keep the code object, and let the result go first.
std::shared_ptr<const CodeSpans> spans_of(PyCodeObject* code);

}  // namespace pyptx::python
