// SPDX-License-Identifier: Apache-2.0
//
// The parts of a module in Python: `Part`, `Function`, `Instruction`, `Variable`, `Operand`,
// `Location`. Bindings only; what a part is stands in module/part.h.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <bit>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "bind/blocks.h"
#include "bind/parts.h"
#include "module/part.h"
#include "pyptx/syntax/printer.h"
#include "text_bytes.h"

namespace pyptx::python {
namespace {

using ir::OperandKind;
using Number = std::variant<std::int64_t, double>;

nb::object location(const Part& part) {
  const diag::LocationTable& table = part.document->module().locations;
  auto place = table.place(part.range);
  return nb::cast(std::move(place));
}

std::string place_text(const diag::Place& place) {
  return place.file + ":" + std::to_string(place.line) + ":" + std::to_string(place.column);
}

/// The first line of a text, cut where it is long.
std::string shown(std::string_view text) {
  constexpr std::size_t kMost = 60;
  const std::string_view line = text.substr(0, text.find_first_of("\r\n"));
  std::string result(line.substr(0, kMost));
  if (result.size() < text.size()) result += "...";
  return result;
}

nb::str repr(const char* type, std::string_view words, std::string_view text) {
  std::string result = std::string("<") + type + " " + std::string(words);
  if (!words.empty()) result += ": ";
  return to_str(result + shown(text) + ">");
}

nb::str part_repr(const Part& part) { return repr("Part", part.kind, part.text()); }

std::string operand_text(const OperandPart& part) {
  return syntax::print(part.document->module(), *part.function, part.operand);
}

std::optional<std::string> operand_name(const OperandPart& part) {
  const ir::Module& module = part.document->module();
  const ir::Operand& operand = part.operand;
  switch (operand.kind) {
    case OperandKind::Register:
    case OperandKind::NotRegister:
    case OperandKind::NegatedRegister:
      return module.name(part.function->at(operand.register_id()));
    case OperandKind::Special:
      return std::string(isa::info(static_cast<isa::SpecialRegister>(operand.index)).name);
    case OperandKind::Symbol:
    case OperandKind::Undeclared:
      return std::string(module.text(static_cast<ir::Symbol>(operand.index)));
    case OperandKind::Label:
      return std::string(module.text(part.function->labels[operand.index]));
    default:
      return std::nullopt;
  }
}

std::optional<Number> operand_value(const OperandPart& part) {
  const ir::Operand& operand = part.operand;
  switch (operand.kind) {
    case OperandKind::Float32:
      return std::bit_cast<float>(static_cast<std::uint32_t>(operand.value));
    case OperandKind::Float64:
      return std::bit_cast<double>(operand.value);
    case OperandKind::Integer:
    case OperandKind::Symbol:
    case OperandKind::Address:
      return operand.value;
    default:
      return std::nullopt;
  }
}

std::optional<std::string> operand_type(const OperandPart& part) {
  if (!part.operand.is_register()) return std::nullopt;
  return std::string(isa::info(part.function->at(part.operand.register_id()).declared).name);
}

bool is_negated(const OperandPart& part) {
  return part.operand.kind == OperandKind::NotRegister ||
         part.operand.kind == OperandKind::NegatedRegister ||
         (part.operand.kind == OperandKind::Undeclared &&
          (part.operand.component & (ir::kNotName | ir::kMinusName)) != 0);
}

Many<OperandPart> children(const OperandPart& part) {
  std::vector<OperandPart> all;
  if (part.operand.is_composite()) {
    for (const ir::Operand& child : part.function->children(part.operand)) {
      all.push_back({part.document, part.function, child});
    }
  }
  return many<OperandPart>(all);
}

std::string opcode(const InstructionPart& part) {
  const std::string_view words = part.spelling();
  return std::string(words.substr(0, words.find('.')));
}

Many<nb::str> modifiers(const InstructionPart& part) {
  std::vector<nb::str> all;
  std::string_view words = part.spelling();
  for (std::size_t dot; (dot = words.find('.')) != std::string_view::npos;) {
    words.remove_prefix(dot + 1);
    all.push_back(to_str(words.substr(0, words.find('.'))));
  }
  return many<nb::str>(all);
}

Many<Part> body(const FunctionPart& part) {
  std::vector<nb::object> all;
  for (const ir::Statement& statement : part.function->body) {
    if (is_instruction(statement)) {
      all.push_back(nb::cast(instruction_part(part.document, *part.function, statement)));
    } else if (statement.kind == ir::StatementKind::Variable) {
      VariablePart made;
      static_cast<Part&>(made) = plain_part(part.document, statement);
      made.variable = &part.function->variables[statement.index];
      all.push_back(nb::cast(std::move(made)));
    } else {
      all.push_back(nb::cast(plain_part(part.document, statement)));
    }
  }
  return many<Part>(all);
}

Many<InstructionPart> instructions(const FunctionPart& part) {
  std::vector<InstructionPart> all;
  for (const ir::Statement& statement : part.function->body) {
    if (is_instruction(statement)) {
      all.push_back(instruction_part(part.document, *part.function, statement));
    }
  }
  return many<InstructionPart>(all);
}

Many<VariablePart> parameters(const DocumentPtr& document,
                              const std::vector<ir::Variable>& variables) {
  std::vector<VariablePart> all;
  all.reserve(variables.size());
  for (const ir::Variable& variable : variables) all.push_back(parameter(document, variable));
  return many<VariablePart>(all);
}

/// (name, values): ("maxntid", (384, 1, 1)), ("pragma", ("nounroll",))
nb::tuple directives(const FunctionPart& part) {
  const ir::Module& module = part.document->module();
  nb::list all;
  for (const ir::Directive& directive : part.function->directives) {
    nb::list values;
    for (const std::int64_t value : directive.values) values.append(value);
    if (directive.text != ir::Symbol::None) values.append(to_str(module.text(directive.text)));
    all.append(nb::make_tuple(to_str(module.text(directive.name)), nb::tuple(values)));
  }
  return nb::tuple(all);
}

nb::str name_of_symbol(const Part& part, ir::Symbol name) {
  return to_str(part.document->module().text(name));
}

void bind_location(nb::module_& m) {
  nb::class_<diag::Place>(m, "Location", "Where a part stands; lines and columns count from 1.")
      .def_ro("file", &diag::Place::file)
      .def_ro("line", &diag::Place::line)
      .def_ro("column", &diag::Place::column)
      .def_ro("end_line", &diag::Place::end_line)
      .def_ro("end_column", &diag::Place::end_column)
      .def("__str__", &place_text)
      .def("__repr__",
           [](const diag::Place& place) { return "<Location " + place_text(place) + ">"; });
}

void bind_operand(nb::module_& m) {
  nb::class_<OperandPart>(m, "Operand", "One operand of an instruction.")
      .def_prop_ro(
          "kind", [](const OperandPart& p) { return std::string(kind_name(p.operand.kind)); },
          "register, special, integer, float, symbol, label, address, vector, list, pair, sink,\n"
          "or undeclared: a name that nothing declares.")
      .def_prop_ro("text", &operand_text, "In canonical form.")
      .def_prop_ro("name", &operand_name, "Of a register, symbol or label; else None.")
      .def_prop_ro("value", &operand_value,
                   "A number's; the offset of an address or a symbol; else None.")
      .def_prop_ro("type", &operand_type, "What .reg says of a register: 'b32'; else None.")
      .def_prop_ro("is_negated", &is_negated, "!p and -r.")
      .def_prop_ro("operands", &children, "What an address, vector, list or pair is made of.")
      .def("__str__", &operand_text)
      .def("__repr__", [](const OperandPart& p) {
        return repr("Operand", kind_name(p.operand.kind), operand_text(p));
      });
}

void bind_part(nb::module_& m) {
  nb::class_<Part>(m, "Part", "A part of a module's text. A part of kind error is kept unread.")
      .def_prop_ro("kind", [](const Part& p) { return std::string(p.kind); })
      .def_prop_ro(
          "text", [](const Part& p) { return to_str(p.text()); }, "As it is written.")
      .def_prop_ro("location", &location, nb::sig("def location(self) -> Location"))
      .def("__str__", [](const Part& p) { return to_str(p.text()); })
      .def("__repr__", &part_repr);
}

nb::class_<InstructionPart, Part> bind_instruction(nb::module_& m) {
  nb::class_<InstructionPart, Part> instruction(m, "Instruction", "An instruction of a function.");
  instruction.def_prop_ro("opcode", &opcode)
      .def_prop_ro("modifiers", &modifiers, "Without their dots.")
      .def_prop_ro("operands",
                   [](const InstructionPart& p) { return many<OperandPart>(p.operands()); })
      .def_prop_ro("guard", &InstructionPart::guard, "The predicate behind the @.")
      .def_prop_ro(
          "is_resolved", [](const InstructionPart& p) { return p.resolved != nullptr; },
          "Whether the table has it and all of its names are declared.")
      .def("__repr__", [](const InstructionPart& p) { return repr("Instruction", "", p.text()); });
  return instruction;
}

void bind_variable(nb::module_& m) {
  nb::class_<VariablePart, Part>(m, "Variable", "A variable or parameter.")
      .def_prop_ro("name",
                   [](const VariablePart& p) { return name_of_symbol(p, p.variable->name); })
      .def_prop_ro("space",
                   [](const VariablePart& p) { return std::string(name_of(p.variable->space)); })
      .def_prop_ro("linkage",
                   [](const VariablePart& p) { return std::string(name_of(p.variable->linkage)); })
      .def_prop_ro(
          "type",
          [](const VariablePart& p) { return std::string(isa::info(p.variable->type).name); })
      .def_prop_ro("vector", [](const VariablePart& p) { return unsigned{p.variable->vector}; })
      .def_prop_ro("align", [](const VariablePart& p) { return p.variable->alignment(); })
      .def_prop_ro(
          "count", [](const VariablePart& p) { return p.variable->count; },
          "Elements of an array, 0 where the size is open; None for a scalar.")
      .def_prop_ro(
          "size", [](const VariablePart& p) { return p.variable->size(); }, "In bytes.")
      .def("__repr__", [](const VariablePart& p) { return repr("Variable", p.kind, p.text()); });
}

nb::class_<FunctionPart, Part> bind_function(nb::module_& m) {
  nb::class_<FunctionPart, Part> function(m, "Function", "An entry or a device function.");
  function
      .def_prop_ro("name",
                   [](const FunctionPart& p) { return name_of_symbol(p, p.function->name); })
      .def_prop_ro("is_entry", [](const FunctionPart& p) { return p.function->is_entry; })
      .def_prop_ro("is_declaration",
                   [](const FunctionPart& p) { return p.function->is_declaration; })
      .def_prop_ro("linkage",
                   [](const FunctionPart& p) { return std::string(name_of(p.function->linkage)); })
      .def_prop_ro(
          "parameters",
          [](const FunctionPart& p) { return parameters(p.document, p.function->parameters); })
      .def_prop_ro(
          "returns",
          [](const FunctionPart& p) { return parameters(p.document, p.function->returns); })
      .def_prop_ro("directives", &directives,
                   nb::sig("def directives(self) -> tuple[tuple[str, tuple[int | str, ...]], ...]"),
                   "Name and values: ('maxntid', (384, 1, 1)).")
      .def_prop_ro("body", &body, "Every part between the braces, comments included.")
      .def_prop_ro("instructions", &instructions)
      .def("__repr__", [](const FunctionPart& p) {
        const ir::Function& f = *p.function;
        const std::size_t count = f.instructions.size() + f.unresolved.size();
        return to_str(
            std::string("<Function ") + (f.is_entry ? ".entry " : ".func ") +
            std::string(p.document->module().text(f.name)) + ": " +
            (f.is_declaration ? "a declaration" : std::to_string(count) + " instructions") + ">");
      });
  return function;
}

}  // namespace

void bind_parts(nb::module_& m) {
  bind_location(m);
  bind_operand(m);
  bind_part(m);
  nb::class_<InstructionPart, Part> instruction = bind_instruction(m);
  bind_variable(m);
  nb::class_<FunctionPart, Part> function = bind_function(m);
  bind_blocks(m, instruction, function);
}

}  // namespace pyptx::python
