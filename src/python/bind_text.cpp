// SPDX-License-Identifier: Apache-2.0
//
// `_core.Module`, parsing, verifying, and the `pyptx` command.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>
#include <unistd.h>

#include <cstdint>
#include <iostream>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "errors.h"
#include "interrupts.h"
#include "module_object.h"
#include "pyptx/cli/command.h"
#include "pyptx/cli/doctor.h"
#include "pyptx/isa/form_info.h"
#include "pyptx/syntax/printer.h"
#include "pyptx/text/text.h"

namespace pyptx::python {
namespace {

using VersionPair = std::pair<unsigned, unsigned>;
using SourceLine =
    std::tuple<std::size_t, std::string, std::uint32_t, std::uint32_t, std::vector<std::string>>;

diag::Diagnostics resolved_all(diag::Diagnostics found, const diag::LocationTable& table) {
  for (diag::Diagnostic& diagnostic : found) diagnostic = resolved(std::move(diagnostic), &table);
  return found;
}

ModuleObject parse(const std::string& text, const std::string& file) {
  syntax::Document document = text::parse(text, file);
  if (!document.diagnostics().empty()) {
    raise(document.diagnostics(), &document.module().locations);
  }
  return ModuleObject(std::move(document));
}

diag::Diagnostics verify_text(const std::string& text, const std::string& file, bool lint,
                              std::size_t max_diagnostics) {
  text::Checked checked = text::check(text, file, {lint, max_diagnostics});
  return resolved_all(std::move(checked.diagnostics), checked.document.module().locations);
}

diag::Diagnostics verify_module(const ModuleObject& object, bool lint,
                                std::size_t max_diagnostics) {
  return resolved_all(text::verify(*object.module, {lint, max_diagnostics}),
                      object.module->locations);
}

std::string print(const ModuleObject& object) {
  return object.document ? syntax::print(*object.document) : syntax::print(*object.module);
}

/// (PTX line, file, line, column, expansions) for every line of the text that came from a line of
/// the author's.
std::vector<SourceLine> source_lines(const ModuleObject& object) {
  std::vector<diag::Loc> locs;
  syntax::print(*object.module, &locs);
  std::vector<SourceLine> lines;
  for (std::size_t i = 0; i < locs.size(); ++i) {
    const auto point = object.module->locations.point(locs[i]);
    if (!point) continue;
    const auto helpers = object.module->locations.expansions(locs[i]);
    lines.emplace_back(i + 1, std::string(point->file), point->line, point->column,
                       std::vector<std::string>(helpers.begin(), helpers.end()));
  }
  return lines;
}

std::optional<std::string> entry_name(const ModuleObject& object) {
  const ir::Function* entry = object.module->entry();
  if (entry == nullptr) return std::nullopt;
  return std::string(object.module->text(entry->name));
}

std::size_t instruction_count(const ModuleObject& object) {
  std::size_t count = 0;
  for (const auto& function : object.module->functions) count += function->instructions.size();
  return count;
}

/// The form of every instruction of a legal text: its opcode, and its number among the forms that
/// the table has for this opcode.
std::vector<std::pair<std::string, std::size_t>> forms(const std::string& text) {
  text::Checked checked = text::check(text);
  const ir::Module& module = checked.document.module();
  if (!checked.ok()) raise(checked.diagnostics, &module.locations);
  std::vector<std::pair<std::string, std::size_t>> found;
  for (const auto& function : module.functions) {
    for (const ir::Instruction& instruction : function->instructions) {
      const isa::Form* form = instruction.form().form;
      const isa::Form* first = isa::forms_of(instruction.spelling->opcode).data();
      found.emplace_back(std::string(form->opcode), static_cast<std::size_t>(form - first));
    }
  }
  return found;
}

cli::Streams process_streams() {
  return {
      std::cin,       std::cout, std::cerr, isatty(STDOUT_FILENO) != 0, isatty(STDERR_FILENO) != 0,
      &is_interrupted};
}

using FindingRow = std::tuple<std::string, std::string, std::string, std::string, std::string,
                              std::vector<std::pair<std::string, std::string>>>;

int doctor(const std::vector<std::string>& words, const std::vector<FindingRow>& rows) {
  using State = cli::Finding::State;
  std::vector<cli::Finding> findings;
  for (const auto& [part, subject, state, detail, remedy, facts] : rows) {
    const State meant = state == "good"     ? State::Good
                        : state == "absent" ? State::Absent
                                            : State::Broken;
    findings.push_back({part, subject, meant, detail, remedy, facts});
  }
  cli::Streams streams = process_streams();
  const int status = cli::doctor(words, streams, findings);
  std::cout.flush();
  return status;
}

int command(const std::vector<std::string>& words) {
  const int status = cli::run(words, process_streams());
  std::cout.flush();
  const nb::gil_scoped_acquire acquire;
  if (has_python_error(nullptr)) nb::raise_python_error();  // Ctrl-C
  return status;
}

}  // namespace

void bind_text(nb::module_& m) {
  using namespace nb::literals;
  nb::class_<ModuleObject>(m, "Module", "A PTX module.")
      .def_prop_ro("text", &print, "The text: as it was read, or canonical when traced.")
      .def(
          "format", [](const ModuleObject& o) { return syntax::print(*o.module); },
          "The canonical text, from the tree alone.")
      .def_prop_ro("target", [](const ModuleObject& o) { return o.module->target.text(); })
      .def_prop_ro("version",
                   [](const ModuleObject& o) {
                     return VersionPair{o.module->version.major, o.module->version.minor};
                   })
      .def_prop_ro("entry", &entry_name)
      .def_prop_ro("instruction_count", &instruction_count)
      .def("source_lines", &source_lines,
           "(PTX line, file, line, column, expansions) for every line that an author's line made.");
  m.def("parse", &parse, "text"_a, "file"_a = "<ptx>");
  m.def("verify_text", &verify_text, "text"_a, "file"_a, "lint"_a, "max_diagnostics"_a,
        nb::call_guard<nb::gil_scoped_release>());
  m.def("verify_module", &verify_module, "module"_a, "lint"_a, "max_diagnostics"_a);
  m.def("forms", &forms, "text"_a,
        "(opcode, number among its forms in the table) of every instruction.");
  m.def("doctor", &doctor, "words"_a, "findings"_a, nb::call_guard<nb::gil_scoped_release>());
  m.def("command", &command, "words"_a, nb::call_guard<nb::gil_scoped_release>());
}

}  // namespace pyptx::python
