// SPDX-License-Identifier: Apache-2.0
//
// What a kernel says while it runs (ptx.printf, ptx.assert_) and what its text says about itself
// (comments, pragmas, raw text, .file and .loc).
#include <nanobind/nanobind.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pyptx/build/print.h"
#include "pyptx/build/shared.h"
#include "trace/operands.h"
#include "trace/trace.h"
#include "trace/values.h"

namespace pyptx::python {

void bind_ptx_print(nb::module_& m);

namespace {

using namespace nb::literals;
using build::Tracer;

void print_formatted(const std::string& format, const nb::args& values, nb::handle pred) {
  traced([&](Tracer& t) {
    std::vector<build::Value> list;
    for (nb::handle value : values) list.push_back(need_value(t, value));
    const build::Guard guard = to_guard(t, pred);
    if (!t.has_error()) build::print(t, format, list, guard);
  });
}

void bind_output(nb::module_& ptx) {
  ptx.def("printf", &print_formatted, "fmt"_a, "regs"_a, "pred"_a = nb::none(),
          "printf of the running kernel; each conversion is held against its value's type.");
  ptx.def(
      "assert_",
      [](nb::handle p, const std::string& message) {
        traced([&](Tracer& t) {
          const build::Guard condition = to_guard(t, p);
          if (!t.has_error()) build::assert_that(t, condition, message);
        });
      },
      "p"_a.none(), "message"_a,
      "Fails the launch, naming file, line and message, where the predicate does not hold.");
}

void show(nb::handle tile, const std::optional<std::string>& label,
          const std::array<std::uint32_t, 3>& cta, std::uint32_t times) {
  traced([&](Tracer& t) {
    if (!nb::isinstance<build::SharedView>(tile)) {
      const std::string given = nb::cast<std::string>(nb::repr(tile));
      t.report(diag::Diagnostic(diag::Kind::BadArgument,
                                {"what is shown", "a tile of shared memory", given})
                   .about("tile"));
      return;
    }
    const std::string name = label.value_or("");
    build::show(t, nb::cast<const build::SharedView&>(tile), {name, cta, times});
  });
}

void bind_output_statements(nb::module_& ptx) {
  ptx.def("show", &show, "tile"_a, "label"_a = nb::none(), nb::kw_only(),
          "cta"_a = std::array<std::uint32_t, 3>{}, "times"_a = 1,
          "Shows what is in a tile of shared memory, in its logical order, when the first warp of "
          "the CTA comes by on the emulator, for the first `times` passes. Emits nothing: the text "
          "is the same without it, and on a GPU nothing happens.");
  ptx.def(
      "raw", [](const std::string& text) { traced([&](Tracer& t) { t.raw(text); }); }, "text"_a,
      "Text that goes into the kernel as it is, checked but for instructions the table has not.");
  ptx.def(
      "pragma", [](const std::string& text) { traced([&](Tracer& t) { t.pragma(text); }); },
      "text"_a, "A .pragma directive.");
  ptx.def(
      "comment", [](const std::string& text) { traced([&](Tracer& t) { t.comment(text); }); },
      "text"_a, "A comment line in the text.");
  ptx.def(
      "file_",
      [](std::uint32_t index, const std::string& name) {
        traced([&](Tracer& t) { t.file(index, name); });
      },
      "i"_a, "name"_a, "Declares a source file for loc().");
  ptx.def(
      "loc",
      [](std::uint32_t file, std::uint32_t line, std::uint32_t column) {
        traced([&](Tracer& t) { t.line(file, line, column); });
      },
      "f"_a, "l"_a, "c"_a = 0, "What follows comes from this line of a declared file.");
}

}  // namespace

void bind_ptx_print(nb::module_& m) {
  auto ptx = nb::borrow<nb::module_>(m.attr("ptx"));
  bind_output(ptx);
  bind_output_statements(ptx);
}

}  // namespace pyptx::python
