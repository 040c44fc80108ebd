// SPDX-License-Identifier: Apache-2.0
#include "module/part.h"

#include <string>
#include <string_view>
#include <vector>

#include "module/object.h"
#include "pyptx/syntax/printer.h"

namespace pyptx::python {
namespace {

using ir::ItemKind;
using ir::OperandKind;
using ir::StatementKind;

std::string_view kind_name(ItemKind kind) {
  switch (kind) {
    case ItemKind::Header:
      return "header";
    case ItemKind::Variable:
      return "variable";
    case ItemKind::Function:
      return "function";
    case ItemKind::Comment:
    case ItemKind::BlockComment:
    case ItemKind::LineMarker:
      return "comment";
    case ItemKind::Pragma:
      return "pragma";
    case ItemKind::File:
      return "file";
    case ItemKind::Section:
      return "section";
    case ItemKind::IntermediateSources:
      return "sources";
    case ItemKind::Alias:
      return "alias";
    case ItemKind::Error:
    case ItemKind::Stray:
      return "error";
  }
  return "error";
}

std::string_view kind_name(StatementKind kind) {
  switch (kind) {
    case StatementKind::Instruction:
    case StatementKind::Unresolved:
      return "instruction";
    case StatementKind::Label:
      return "label";
    case StatementKind::Variable:
      return "variable";
    case StatementKind::Registers:
    case StatementKind::Pool:
      return "registers";
    case StatementKind::Comment:
    case StatementKind::BlockComment:
    case StatementKind::LineMarker:
      return "comment";
    case StatementKind::Raw:
      return "raw";
    case StatementKind::Pragma:
      return "pragma";
    case StatementKind::BlockOpen:
      return "open";
    case StatementKind::BlockClose:
      return "close";
    case StatementKind::Line:
      return "loc";
    case StatementKind::BranchTargets:
      return "branchtargets";
    case StatementKind::CallTargets:
      return "calltargets";
    case StatementKind::CallPrototype:
      return "callprototype";
    case StatementKind::Error:
    case StatementKind::Stray:
      return "error";
  }
  return "error";
}

}  // namespace

std::shared_ptr<const syntax::Document> walked(const ModuleObject& object) {
  if (object.document != nullptr) return object.document;
  if (object.walked_document == nullptr) {
    syntax::ParseOptions options;
    options.recover = true;  // raw text may be anything
    object.walked_document = std::make_shared<const syntax::Document>(
        syntax::Document::read(syntax::print(*object.module), "<ptx>", options));
  }
  return object.walked_document;
}

std::string_view kind_name(OperandKind kind) {
  switch (kind) {
    case OperandKind::None:
      return "none";
    case OperandKind::Register:
    case OperandKind::NotRegister:
    case OperandKind::NegatedRegister:
      return "register";
    case OperandKind::Special:
      return "special";
    case OperandKind::Integer:
      return "integer";
    case OperandKind::Float32:
    case OperandKind::Float64:
      return "float";
    case OperandKind::Symbol:
      return "symbol";
    case OperandKind::Label:
      return "label";
    case OperandKind::Address:
      return "address";
    case OperandKind::Vector:
      return "vector";
    case OperandKind::Parenthesized:
      return "list";
    case OperandKind::Pipe:
      return "pair";
    case OperandKind::Sink:
      return "sink";
    case OperandKind::Undeclared:
      return "undeclared";
  }
  return "none";
}

std::string_view name_of(ir::Space space) {
  static constexpr std::string_view kNames[] = {"reg",   "const", "global",
                                                "local", "param", "shared"};
  return kNames[static_cast<std::size_t>(space)];
}

std::string_view name_of(ir::Linkage linkage) {
  static constexpr std::string_view kNames[] = {"", "extern", "visible", "weak", "common"};
  return kNames[static_cast<std::size_t>(linkage)];
}

VariablePart parameter(const DocumentPtr& document, const ir::Variable& variable) {
  const auto range = document->module().locations.range(variable.loc);
  VariablePart part;
  part.document = document;
  part.kind = "parameter";
  part.range = range.value_or(diag::TextRange{});
  part.variable = &variable;
  return part;
}

FunctionPart function_part(const DocumentPtr& document, const ir::Item& item) {
  FunctionPart part;
  static_cast<Part&>(part) = plain_part(document, item);
  part.function = document->module().functions[item.index].get();
  return part;
}

Part plain_part(const DocumentPtr& document, const ir::Item& item) {
  return {document, kind_name(item.kind), document->range(item)};
}

Part plain_part(const DocumentPtr& document, const ir::Statement& statement) {
  return {document, kind_name(statement.kind), document->range(statement)};
}

bool is_instruction(const ir::Statement& statement) {
  return statement.kind == StatementKind::Instruction ||
         statement.kind == StatementKind::Unresolved;
}

InstructionPart instruction_part(const DocumentPtr& document, const ir::Function& function,
                                 const ir::Statement& statement) {
  InstructionPart part;
  static_cast<Part&>(part) = plain_part(document, statement);
  part.function = &function;
  if (statement.kind == StatementKind::Instruction) {
    part.resolved = &function.instructions[statement.index];
  } else {
    part.unresolved = &function.unresolved[statement.index];
  }
  return part;
}

std::string_view InstructionPart::spelling() const {
  return resolved != nullptr ? std::string_view(resolved->spelling->text)
                             : document->module().text(unresolved->spelling);
}

std::vector<OperandPart> InstructionPart::operands() const {
  std::vector<OperandPart> all;
  const auto given =
      resolved != nullptr ? function->operands_of(*resolved) : function->operands_of(*unresolved);
  for (const ir::Operand& operand : given) all.push_back({document, function, operand});
  return all;
}

std::optional<OperandPart> InstructionPart::guard() const {
  if (unresolved != nullptr) {
    if (unresolved->guard.kind == OperandKind::None) return std::nullopt;
    return OperandPart{document, function, unresolved->guard};
  }
  if (!resolved->guard) return std::nullopt;
  const ir::RegisterId id = *resolved->guard;
  return OperandPart{document, function,
                     resolved->guard_negated ? ir::Operand::not_reg(id) : ir::Operand::reg(id)};
}

}  // namespace pyptx::python
