// SPDX-License-Identifier: Apache-2.0
//
// `_core.Module`: its text, its parts and its edits.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "bind/parts.h"
#include "module/edit.h"
#include "module/object.h"
#include "module/part.h"
#include "pyptx/interop/report.h"
#include "pyptx/syntax/printer.h"
#include "text_bytes.h"

namespace pyptx::python {
namespace {

using ModuleVersion = std::pair<unsigned, unsigned>;
using SourceLine =
    std::tuple<std::size_t, std::string, std::uint32_t, std::uint32_t, std::vector<std::string>>;

std::string print(const ModuleObject& object) {
  return object.document != nullptr ? syntax::print(*object.document)
                                    : syntax::print(*object.module);
}

nb::bytes print_bytes(const ModuleObject& object) {
  const std::string text = print(object);
  return nb::bytes(text.data(), text.size());
}

/// Empty where the header cannot be read.
nb::str target(const ModuleObject& object) {
  const ir::Module& module = *object.module;
  if (module.unknown_target != ir::Symbol::None) return to_str(module.text(module.unknown_target));
  return to_str(module.target == isa::Target{} ? "" : module.target.text());
}

/// (PTX line, file, line, column, expansions) for every line of the text that came from a line of
/// the author's.
std::vector<SourceLine> source_lines(const ModuleObject& object) {
  std::vector<SourceLine> lines;
  for (interop::SourceLine& line : interop::source_lines(*object.module)) {
    lines.emplace_back(line.ptx_line, std::move(line.file), line.line, line.column,
                       std::move(line.expansions));
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
  for (const auto& function : object.module->functions) {
    count += function->instructions.size() + function->unresolved.size();
  }
  return count;
}

nb::object directive(const DocumentPtr& document, const ir::Item& item) {
  if (item.kind == ir::ItemKind::Function) return nb::cast(function_part(document, item));
  if (item.kind != ir::ItemKind::Variable) return nb::cast(plain_part(document, item));
  VariablePart made;
  static_cast<Part&>(made) = plain_part(document, item);
  made.variable = &document->module().variables[item.index];
  return nb::cast(std::move(made));
}

Many<Part> parts(const ModuleObject& object, bool comments) {
  const DocumentPtr document = walked(object);
  std::vector<nb::object> all;
  for (const ir::Item& item : document->module().items) {
    const Part part = plain_part(document, item);
    if (comments || part.kind != "comment") all.push_back(directive(document, item));
  }
  return many<Part>(all);
}

Many<FunctionPart> functions(const ModuleObject& object, bool entries_only) {
  const DocumentPtr document = walked(object);
  std::vector<FunctionPart> all;
  for (const ir::Item& item : document->module().items) {
    if (item.kind != ir::ItemKind::Function) continue;
    FunctionPart part = function_part(document, item);
    if (!entries_only || part.function->is_entry) all.push_back(std::move(part));
  }
  return many<FunctionPart>(all);
}

diag::Diagnostics diagnostics(const ModuleObject& object) {
  if (object.document == nullptr) return {};
  diag::Diagnostics found = object.document->diagnostics();
  for (diag::Diagnostic& one : found) one.resolve(object.module->locations);
  return found;
}

std::string counted(std::size_t count, std::string_view one) {
  return std::to_string(count) + " " + std::string(one) + (count == 1 ? "" : "s");
}

nb::str module_repr(const ModuleObject& object) {
  const ir::Module& module = *object.module;
  std::string entries;
  for (const auto& function : module.functions) {
    if (!function->is_entry) continue;
    entries += (entries.empty() ? ", .entry " : ", ") + std::string(module.text(function->name));
  }
  const std::size_t errors = object.document ? object.document->diagnostics().size() : 0;
  return to_str("<Module .version " + module.version.text() + ", .target " +
                nb::cast<std::string>(target(object)) + entries + ": " +
                counted(module.functions.size(), "function") + ", " +
                counted(instruction_count(object), "instruction") +
                (errors == 0 ? "" : ", " + counted(errors, "syntax error")) + ">");
}

/// What a notebook shows.
nb::str module_html(nb::handle self) {
  return nb::str(nb::module_::import_("pyptx._view.notebook").attr("module_html")(self));
}

}  // namespace

void bind_module(nb::module_& m) {
  using namespace nb::literals;
  nb::class_<ModuleObject>(m, "Module", "A PTX module. It never changes: an edit gives another.")
      .def_prop_ro(
          "text", [](const ModuleObject& o) { return to_str(print(o)); },
          "The text: as it was read, or canonical when traced.")
      .def("__str__", [](const ModuleObject& o) { return to_str(print(o)); })
      .def("__bytes__", &print_bytes)
      .def("__repr__", &module_repr)
      .def("_repr_html_", &module_html)
      .def(
          "format", [](const ModuleObject& o) { return to_str(syntax::print(*o.module)); },
          "The canonical text, from the tree alone; what could not be read is not in it.")
      .def_prop_ro("target", &target, "What .target says.")
      .def_prop_ro("version",
                   [](const ModuleObject& o) {
                     return ModuleVersion{o.module->version.major, o.module->version.minor};
                   })
      .def_prop_ro("entry", &entry_name, "The name of the only entry; else None.")
      .def_prop_ro(
          "parts", [](const ModuleObject& o) { return parts(o, true); },
          "Every part at the outermost level, in the order of the text.")
      .def_prop_ro(
          "directives", [](const ModuleObject& o) { return parts(o, false); },
          "The parts without the comments.")
      .def_prop_ro("functions", [](const ModuleObject& o) { return functions(o, false); })
      .def_prop_ro("entries", [](const ModuleObject& o) { return functions(o, true); })
      .def_prop_ro("diagnostics", &diagnostics,
                   "What could not be read; only parse(recover=True) gives a module that has any.")
      .def("edit", &edit_module, "changes"_a,
           "The module with the text of parts replaced: (part, text) each, all at once. The result "
           "is read anew.")
      .def_prop_ro("instruction_count", &instruction_count)
      .def("source_lines", &source_lines,
           "(PTX line, file, line, column, expansions) for every line that an author's line made.");
}

}  // namespace pyptx::python
