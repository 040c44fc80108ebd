// SPDX-License-Identifier: Apache-2.0
//
// `_core.Diagnostic`: what an Error carries, with its place resolved.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "errors.h"
#include "pyptx/diag/render.h"

namespace pyptx::python {
namespace {

using diag::Diagnostic;

std::string severity(const Diagnostic& diagnostic) {
  return std::string(diag::text(diagnostic.severity()));
}

std::vector<std::tuple<std::string, std::string>> fixits(const Diagnostic& diagnostic) {
  std::vector<std::tuple<std::string, std::string>> pairs;
  pairs.reserve(diagnostic->fixits.size());
  for (const diag::FixIt& fixit : diagnostic->fixits) {
    pairs.emplace_back(fixit.replacement, fixit.reason);
  }
  return pairs;
}

/// Text and place of each label: "first declared here", line, column.
std::vector<std::tuple<std::string, std::uint32_t, std::uint32_t>> labels(
    const Diagnostic& diagnostic) {
  std::vector<std::tuple<std::string, std::uint32_t, std::uint32_t>> all;
  for (const diag::Label& label : diagnostic->labels) {
    const diag::Place place = label.place.value_or(diag::Place{});
    all.emplace_back(label.text, place.line, place.column);
  }
  return all;
}

/// PTX version and targets; None where neither matters.
std::optional<std::tuple<std::string, std::string>> requirement(
    const diag::Requirement& requirement) {
  if (requirement.is_empty()) return std::nullopt;
  return std::tuple(requirement.version, requirement.target);
}

/// A field of the place; None where there is no place, or no column.
template <auto Member>
std::optional<std::uint32_t> number(const Diagnostic& diagnostic) {
  if (!diagnostic->place || (*diagnostic->place).*Member == 0) return std::nullopt;
  return (*diagnostic->place).*Member;
}

/// File, line, column, end line, end column and source line.
using PlaceParts = std::tuple<std::string, std::uint32_t, std::uint32_t, std::uint32_t,
                              std::uint32_t, std::string>;

void raise_kind(std::string_view kind, std::vector<std::string> arguments,
                std::vector<std::string> notes, std::optional<PlaceParts> place) {
  for (const diag::Kind known : diag::all_kinds()) {
    if (diag::info(known).name != kind) continue;
    Diagnostic diagnostic(known, {});
    diagnostic->arguments = std::move(arguments);
    diagnostic->notes = std::move(notes);
    if (place) {
      diag::Place& at = diagnostic->place.emplace();
      std::tie(at.file, at.line, at.column, at.end_line, at.end_column, at.source_line) =
          std::move(*place);
    }
    raise(diagnostic);
  }
  throw nb::value_error(("no kind of diagnostic: " + std::string(kind)).c_str());
}

std::optional<std::string> file(const Diagnostic& diagnostic) {
  return diagnostic->place ? std::optional(diagnostic->place->file) : std::nullopt;
}

/// A finding that Python reports itself, by its registered code.
Diagnostic finding(const std::string& code, std::vector<std::string> arguments,
                   std::vector<std::string> notes) {
  const auto kind = diag::kind_from_code(code);
  if (!kind) throw nb::value_error(("no diagnostic has the code " + code).c_str());
  Diagnostic made(*kind, {});
  made->arguments = std::move(arguments);
  made->notes = std::move(notes);
  return made;
}

/// What a notebook shows.
nb::str diagnostic_html(nb::handle self) {
  return nb::str(nb::module_::import_("pyptx._view.notebook").attr("diagnostic_html")(self));
}

}  // namespace

void bind_diag(nb::module_& m) {
  translate_exceptions();
  nb::class_<Diagnostic>(m, "Diagnostic", "One finding about a kernel or a text.")
      .def_prop_ro("code", [](const Diagnostic& d) { return std::string(d.code()); })
      .def_prop_ro("kind", [](const Diagnostic& d) { return std::string(diag::info(d.kind).name); })
      .def_prop_ro("severity", &severity)
      .def_prop_ro("message", &Diagnostic::message)
      .def_prop_ro("file", &file)
      .def_prop_ro("line", &number<&diag::Place::line>)
      .def_prop_ro("column", &number<&diag::Place::column>)
      .def_prop_ro("end_line", &number<&diag::Place::end_line>)
      .def_prop_ro("end_column", &number<&diag::Place::end_column>)
      .def_prop_ro("labels", &labels)
      .def_prop_ro("notes", [](const Diagnostic& d) { return d->notes; })
      .def_prop_ro("fixits", &fixits)
      .def_prop_ro("manual", [](const Diagnostic& d) { return d->manual; })
      .def_prop_ro("manual_title",
                   [](const Diagnostic& d) { return diag::manual_title(d->manual); })
      .def_prop_ro("needed", [](const Diagnostic& d) { return requirement(d->needed); })
      .def_prop_ro("present", [](const Diagnostic& d) { return requirement(d->present); })
      .def("to_json", [](const Diagnostic& d) { return diag::to_json(d, nullptr); })
      .def("__str__", [](const Diagnostic& d) { return diag::render(d, nullptr); })
      .def("_repr_html_", &diagnostic_html)
      .def("__repr__", [](const Diagnostic& d) {
        return "Diagnostic(" + std::string(d.code()) + ": " + d.message() + ")";
      });
  m.def("refuse", &raise_kind, nb::arg("kind"), nb::arg("arguments"), nb::arg("notes"),
        nb::arg("place").none(),
        "Raises the error of a kind of the registry. `place` is (file, line, column, end line, end "
        "column, source line).");
  m.def("finding", &finding, nb::arg("code"), nb::arg("arguments"),
        nb::arg("notes") = std::vector<std::string>{},
        "Return a finding with a registered code, for errors that Python raises.");
}

}  // namespace pyptx::python
