// SPDX-License-Identifier: Apache-2.0
//
// Parsing, verifying, and the `pyptx` command.
#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>
#include <unistd.h>

#include <cstddef>
#include <iostream>
#include <sstream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "errors.h"
#include "interrupts.h"
#include "module/edit.h"
#include "module/object.h"
#include "pyptx/cli/command.h"
#include "pyptx/cli/doctor.h"
#include "pyptx/isa/form_info.h"
#include "pyptx/text/text.h"
#include "text_bytes.h"

namespace pyptx::python {
namespace {

diag::Diagnostics resolved_all(diag::Diagnostics found, const diag::LocationTable& table) {
  for (diag::Diagnostic& diagnostic : found) diagnostic = resolved(std::move(diagnostic), &table);
  return found;
}

ModuleObject parse(nb::object text, const std::string& file, bool recover) {
  return read_module(to_bytes(text, "text"), file, recover);
}

diag::Diagnostics verify_text(nb::object text, const std::string& file, bool lint,
                              std::size_t max_diagnostics) {
  const std::string bytes = to_bytes(text, "text");
  const nb::gil_scoped_release release;
  text::Checked checked = text::check(bytes, file, {lint, max_diagnostics});
  return resolved_all(std::move(checked.diagnostics), checked.document.module().locations);
}

/// A module that was read is judged as its text is; a traced one knows its author's lines.
diag::Diagnostics verify_module(const ModuleObject& object, bool lint,
                                std::size_t max_diagnostics) {
  const text::CheckOptions options{lint, max_diagnostics};
  if (object.document != nullptr) return text::check(*object.document, options);
  return resolved_all(text::check(*object.module, options), object.module->locations);
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

/// (status, what went to the output, what went to the error output), without colour.
std::tuple<int, std::string, std::string> command_text(const std::vector<std::string>& words) {
  std::istringstream in;
  std::ostringstream out;
  std::ostringstream err;
  const int status = cli::run(words, {in, out, err, false, false, &is_interrupted});
  return {status, out.str(), err.str()};
}

}  // namespace

void bind_text(nb::module_& m) {
  using namespace nb::literals;
  m.def("parse", &parse, "text"_a, "file"_a = "<ptx>", "recover"_a = false);
  m.def("verify_text", &verify_text, "text"_a, "file"_a, "lint"_a, "max_diagnostics"_a);
  m.def("verify_module", &verify_module, "module"_a, "lint"_a, "max_diagnostics"_a);
  m.def("forms", &forms, "text"_a,
        "(opcode, number among its forms in the table) of every instruction.");
  m.def("doctor", &doctor, "words"_a, "findings"_a, nb::call_guard<nb::gil_scoped_release>());
  m.def("command", &command, "words"_a, nb::call_guard<nb::gil_scoped_release>());
  m.def("command_text", &command_text, "words"_a,
        "Run the command; (status, output, error output) as texts.");
}

}  // namespace pyptx::python
