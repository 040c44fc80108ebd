// SPDX-License-Identifier: Apache-2.0
#include "body.h"

#include <algorithm>
#include <string>

#include "declaration.h"
#include "header.h"
#include "opcode_class.h"
#include "prototype.h"
#include "pyptx/isa/spelling.h"

namespace pyptx::verify {
namespace {

using diag::Diagnostic;
using diag::Focus;
using diag::Kind;
using ir::OperandKind;
using ir::StatementKind;

Focus operand_focus(std::size_t operand) {
  return {Focus::Part::Operand, static_cast<std::uint16_t>(operand)};
}

bool has_modifier(const ir::Instruction& instruction, isa::Modifier modifier) {
  return modifier != isa::Modifier{} &&
         std::ranges::find(instruction.spelling->modifiers, modifier) !=
             instruction.spelling->modifiers.end();
}

std::string describe(LabelMark::Kind kind) {
  switch (kind) {
    case LabelMark::Kind::Code:
      return "a label of the code";
    case LabelMark::Kind::BranchTargets:
      return "a .branchtargets list";
    case LabelMark::Kind::CallTargets:
      return "a .calltargets list";
    case LabelMark::Kind::CallPrototype:
      return "a .callprototype";
  }
  return "";
}

}  // namespace

BodyCheck::BodyCheck(Findings& findings)
    : findings_(findings),
      param_entry_(isa::find_modifier("param::entry").value_or(isa::Modifier{})),
      param_func_(isa::find_modifier("param::func").value_or(isa::Modifier{})) {}

void BodyCheck::run(const ir::Function& function) {
  function_ = &function;
  for (const ir::Variable& parameter : function.parameters) bind(parameter, Named::Origin::Input);
  for (const ir::Variable& result : function.returns) bind(result, Named::Origin::Result);
  find_marks();
  const bool wants_warnings = findings_.wants(diag::Severity::Warning);
  if (wants_warnings) use_.begin(function);
  for (position_ = 0; position_ < function.body.size(); ++position_) {
    const ir::Statement& here = function.body[position_];
    if (here.kind == StatementKind::Instruction) {
      if (wants_warnings) use_.note(function, here.index);
      instruction(function.instructions[here.index]);
    } else {
      statement(here);
    }
  }
  if (wants_warnings) use_.report(findings_, function);
  if (findings_.wants(diag::Severity::Lint)) check_reachable(findings_, function);
  unbind(0);
  blocks_.clear();
}

void BodyCheck::statement(const ir::Statement& statement) {
  switch (statement.kind) {
    case StatementKind::BlockOpen:
      blocks_.push_back(hidden_.size());
      break;
    case StatementKind::BlockClose:
      if (!blocks_.empty()) {
        unbind(blocks_.back());
        blocks_.pop_back();
      }
      break;
    case StatementKind::Variable: {
      const ir::Variable& variable = function_->variables[statement.index];
      check_parameter_name(variable.name, variable.loc);
      check_variable(findings_, variable, Level::Body);
      bind(variable, Named::Origin::Body);
      break;
    }
    case StatementKind::Registers: {
      const ir::Register& reg = function_->registers[statement.index];
      check_parameter_name(reg.stem, loc_of(statement));
      check_register(findings_, reg.stem, reg.declared, reg.vector, loc_of(statement));
      break;
    }
    case StatementKind::Pool: {
      const ir::RegisterPool& pool = function_->pools[statement.index];
      check_register(findings_, pool.prefix, pool.declared, pool.vector, loc_of(statement));
      break;
    }
    case StatementKind::Label:
      check_parameter_name(function_->labels[statement.index], loc_of(statement));
      break;
    case StatementKind::Pragma:
      check_pragma(findings_, static_cast<ir::Symbol>(statement.index), isa::DirectivePlace::Body,
                   loc_of(statement));
      break;
    case StatementKind::BranchTargets:
      check_branch_targets(statement);
      break;
    case StatementKind::CallTargets:
      check_call_targets(statement);
      break;
    case StatementKind::CallPrototype:
      check_prototype(statement);
      break;
    case StatementKind::Raw:
    case StatementKind::Error:
    case StatementKind::Unresolved:
      use_.give_up();
      break;
    default:
      break;
  }
}

// The names of the parameters belong to the outermost block.
void BodyCheck::check_parameter_name(ir::Symbol name, diag::Loc loc) {
  if (!blocks_.empty()) return;
  const Named earlier = named(name);
  if (earlier.origin != Named::Origin::Input && earlier.origin != Named::Origin::Result) return;
  findings_.add(Diagnostic(Kind::DuplicateName, {findings_.name(name)})
                    .at(loc)
                    .label(earlier.variable->loc, "a parameter of this name")
                    .see("identifiers"));
}

void BodyCheck::instruction(const ir::Instruction& instruction) {
  switch (class_of(instruction.spelling->opcode)) {
    case OpcodeClass::Call:
      check_call(*this, instruction);
      break;
    case OpcodeClass::Branch:
      if (!marks_.empty()) check_branch(instruction);
      break;
    case OpcodeClass::TableBranch:
      check_table_branch(instruction);
      break;
    case OpcodeClass::Load:
      check_access(instruction, 1, false);
      break;
    case OpcodeClass::Store:
      check_access(instruction, 0, true);
      break;
    case OpcodeClass::Move:
      check_address_of(instruction);
      break;
    default:
      break;
  }
}

// Most functions have no tables: their labels are all of the code.
void BodyCheck::find_marks() {
  marks_.clear();
  const ir::Function& function = *function_;
  if (function.branch_targets.empty() && function.call_targets.empty() &&
      function.prototypes.empty()) {
    return;
  }
  marks_.resize(function.labels.size());
  std::uint32_t label = UINT32_MAX;
  for (std::uint32_t i = 0; i < function.body.size(); ++i) {
    const ir::Statement& statement = function.body[i];
    LabelMark mark{LabelMark::Kind::Code, statement.index, i};
    switch (statement.kind) {
      case StatementKind::Label:
        label = statement.index;
        continue;
      case StatementKind::Comment:
      case StatementKind::BlockComment:
      case StatementKind::LineMarker:
        continue;
      case StatementKind::BranchTargets:
        mark.kind = LabelMark::Kind::BranchTargets;
        break;
      case StatementKind::CallTargets:
        mark.kind = LabelMark::Kind::CallTargets;
        break;
      case StatementKind::CallPrototype:
        mark.kind = LabelMark::Kind::CallPrototype;
        break;
      default:
        break;
    }
    if (label < marks_.size() && mark.kind != LabelMark::Kind::Code) marks_[label] = mark;
    label = UINT32_MAX;
  }
}

const LabelMark* BodyCheck::mark(ir::LabelId label) const {
  static constexpr LabelMark kCode{};
  const auto index = static_cast<std::size_t>(label);
  if (index >= marks_.size()) return &kCode;
  return marks_[index].statement <= position_ ? &marks_[index] : nullptr;
}

std::string BodyCheck::label_name(ir::LabelId label) const {
  return findings_.name(function_->labels[static_cast<std::size_t>(label)]);
}

Named BodyCheck::named(ir::Symbol symbol) const {
  const auto index = static_cast<std::size_t>(symbol);
  if (index < names_.size() && names_[index].variable != nullptr) return names_[index];
  return {findings_.variables.find(symbol), Named::Origin::Module};
}

void BodyCheck::bind(const ir::Variable& variable, Named::Origin origin) {
  const auto index = static_cast<std::size_t>(variable.name);
  if (index >= names_.size()) names_.resize(index + 1);
  hidden_.emplace_back(variable.name, names_[index]);
  names_[index] = {&variable, origin};
}

void BodyCheck::unbind(std::size_t size) {
  while (hidden_.size() > size) {
    const auto& [symbol, previous] = hidden_.back();
    names_[static_cast<std::size_t>(symbol)] = previous;
    hidden_.pop_back();
  }
}

void BodyCheck::wrong_label(const ir::Instruction& instruction, std::size_t operand,
                            ir::LabelId label, std::string wanted) {
  const LabelMark* here = mark(label);
  findings_.add(Diagnostic(Kind::LabelKind,
                           {label_name(label), here ? describe(here->kind) : "declared below",
                            instruction.spelling->text, std::move(wanted)})
                    .at(instruction.loc, operand_focus(operand))
                    .see("control-flow-directives"));
}

void BodyCheck::check_branch(const ir::Instruction& instruction) {
  const auto operands = function_->operands_of(instruction);
  if (operands.empty() || operands[0].kind != OperandKind::Label) return;
  const auto label = static_cast<ir::LabelId>(operands[0].index);
  if (marks_[operands[0].index].kind != LabelMark::Kind::Code) {
    wrong_label(instruction, 0, label, describe(LabelMark::Kind::Code));
  }
}

void BodyCheck::check_table_branch(const ir::Instruction& instruction) {
  const auto operands = function_->operands_of(instruction);
  if (operands.size() < 2 || operands[1].kind != OperandKind::Label) return;
  const auto label = static_cast<ir::LabelId>(operands[1].index);
  const LabelMark* table = mark(label);
  if (table == nullptr || table->kind != LabelMark::Kind::BranchTargets) {
    wrong_label(instruction, 1, label, describe(LabelMark::Kind::BranchTargets) + " above it");
  }
}

void BodyCheck::check_branch_targets(const ir::Statement& statement) {
  for (const ir::LabelId label : function_->branch_targets[statement.index]) {
    const auto index = static_cast<std::size_t>(label);
    if (index >= marks_.size() || marks_[index].kind == LabelMark::Kind::Code) continue;
    findings_.add(Diagnostic(Kind::LabelKind, {label_name(label), describe(marks_[index].kind),
                                               ".branchtargets", describe(LabelMark::Kind::Code)})
                      .at(loc_of(statement))
                      .see("control-flow-directives-branchtargets"));
  }
}

void BodyCheck::check_call_targets(const ir::Statement& statement) {
  for (const ir::Symbol symbol : function_->call_targets[statement.index]) {
    if (findings_.functions.find(symbol) != nullptr) continue;
    const std::string why = named(symbol).variable != nullptr ? "it is a variable"
                                                              : "no function of this name is known";
    findings_.add(Diagnostic(Kind::CallTarget, {findings_.name(symbol), why})
                      .at(loc_of(statement))
                      .see("control-flow-directives-calltargets"));
  }
}

void BodyCheck::check_prototype(const ir::Statement& statement) {
  const ir::CallPrototype& prototype = function_->prototypes[statement.index];
  check_parameters(findings_, prototype, loc_of(statement));
  const bool is_noreturn = std::ranges::any_of(prototype.directives, [&](const ir::Directive& d) {
    return findings_.module().text(d.name) == "noreturn";
  });
  if (is_noreturn && !prototype.returns.empty()) {
    findings_.add(Diagnostic(Kind::DirectiveConflict, {".noreturn", "a result"})
                      .at(loc_of(statement))
                      .see("performance-tuning-directives-noreturn"));
  }
}

// Inputs are read, results are written; ::entry and ::func say which parameters are meant.
void BodyCheck::check_access(const ir::Instruction& instruction, std::size_t operand,
                             bool is_store) {
  const auto operands = function_->operands_of(instruction);
  if (operand >= operands.size() || operands[operand].kind != OperandKind::Address) return;
  const ir::Operand& base = function_->children(operands[operand])[0];
  if (base.kind != OperandKind::Symbol) return;
  const auto symbol = static_cast<ir::Symbol>(base.index);
  const Named named_base = named(symbol);
  if (named_base.variable == nullptr || named_base.variable->space != ir::Space::Param) return;
  std::string why;
  if (is_store && named_base.origin == Named::Origin::Input) {
    why = "a parameter that comes in cannot be written";
  } else if (!is_store && named_base.origin == Named::Origin::Result) {
    why = "a result cannot be read";
  } else if (has_modifier(instruction, param_entry_) && named_base.origin == Named::Origin::Body) {
    why = ".param::entry is for the parameters of an entry";
  } else if (has_modifier(instruction, param_func_) && function_->is_entry &&
             named_base.origin == Named::Origin::Input) {
    why = ".param::func is for the parameters of a .func";
  }
  if (why.empty()) return;
  findings_.add(Diagnostic(Kind::ParameterAccess, {findings_.name(symbol), std::move(why)})
                    .at(instruction.loc, operand_focus(operand))
                    .label(named_base.variable->loc, "declared here")
                    .see("parameter-state-space"));
}

void BodyCheck::check_address_of(const ir::Instruction& instruction) {
  const auto operands = function_->operands_of(instruction);
  if (operands.size() < 2 || operands[1].kind != OperandKind::Symbol) return;
  const auto symbol = static_cast<ir::Symbol>(operands[1].index);
  const Named source = named(symbol);
  if (source.variable == nullptr || source.variable->space != ir::Space::Param) return;
  if (source.origin != Named::Origin::Body) return;
  findings_.add(Diagnostic(Kind::ParameterAccess,
                           {findings_.name(symbol),
                            "the address of a .param variable of the body cannot be taken"})
                    .at(instruction.loc, operand_focus(1))
                    .see("parameter-state-space"));
}

}  // namespace pyptx::verify
