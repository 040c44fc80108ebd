// SPDX-License-Identifier: Apache-2.0
//
// Calls against prototypes: how many values, and whether each fits its parameter in kind, size and
// alignment. Sizes decide, not types: a .f32 may be passed as .b32. PTX ISA, sections 7.1 (Function
// Declarations and Definitions) and 9.7.13 (call).
#include <algorithm>
#include <string>
#include <string_view>

#include "body.h"
#include "pyptx/isa/type.h"

namespace pyptx::verify {
namespace {

using diag::Diagnostic;
using diag::Focus;
using diag::Kind;
using ir::OperandKind;
using isa::TypeKind;

constexpr std::string_view kCallAnchor = "control-flow-instructions-call";

/// What a call names, operand by operand.
struct CallParts {
  std::span<const ir::Operand> results, arguments;
  std::size_t results_at = 0, target_at = 0, arguments_at = 0, prototype_at = 0;
  const ir::Operand* target = nullptr;
  const ir::Operand* prototype = nullptr;
};

CallParts parts_of(const ir::Function& function, const ir::Instruction& instruction) {
  const auto operands = function.operands_of(instruction);
  CallParts parts;
  std::size_t next = 0;
  if (operands.size() > 1 && operands[0].kind == OperandKind::Parenthesized) {
    parts.results = function.children(operands[0]);
    next = 1;
  }
  parts.target_at = next;
  if (next < operands.size()) parts.target = &operands[next++];
  if (next < operands.size() && operands[next].kind == OperandKind::Parenthesized) {
    parts.arguments = function.children(operands[next]);
    parts.arguments_at = next++;
  }
  if (next < operands.size()) {
    parts.prototype = &operands[next];
    parts.prototype_at = next;
  }
  return parts;
}

struct Prototype {
  std::string name;
  std::span<const ir::Variable> parameters, results;
  diag::Loc loc{};
};

std::string counted(std::size_t count, std::string_view what) {
  return std::to_string(count) + " " + std::string(what) + (count == 1 ? "" : "s");
}

std::string describe(const ir::Variable& variable) {
  std::string text;
  if (variable.align != 0) text += ".align " + std::to_string(variable.align) + " ";
  if (variable.vector != 0) text += ".v" + std::to_string(variable.vector) + " ";
  text += "." + std::string(isa::info(variable.type).name);
  if (variable.count) {
    text += *variable.count == 0 ? "[]" : "[" + std::to_string(*variable.count) + "]";
  }
  return text;
}

class CallCheck {
 public:
  CallCheck(BodyCheck& body, const ir::Instruction& instruction)
      : body_(body),
        findings_(body.findings()),
        instruction_(instruction),
        parts_(parts_of(body.function(), instruction)) {}

  void run() {
    if (parts_.target == nullptr) return;
    if (parts_.target->kind == OperandKind::Symbol) {
      direct(static_cast<ir::Symbol>(parts_.target->index));
    } else if (parts_.target->kind == OperandKind::Register) {
      indirect();
    }
  }

 private:
  void direct(ir::Symbol symbol) {
    const ir::Function* function = findings_.functions.find(symbol);
    if (function == nullptr) {
      if (body_.named(symbol).variable != nullptr) refuse_target(symbol, "it is a variable");
      return;
    }
    if (function->is_entry) return refuse_target(symbol, "it is an entry, which is launched");
    if (parts_.prototype != nullptr) {
      return refuse_target(symbol, "a call by name takes no prototype");
    }
    against({findings_.name(symbol), function->parameters, function->returns, function->loc});
  }

  void indirect() {
    if (parts_.prototype == nullptr || parts_.prototype->kind != OperandKind::Label) {
      findings_.add(Diagnostic(Kind::CallPrototype, {}).at(instruction_.loc).see(kCallAnchor));
      return;
    }
    const auto label = static_cast<ir::LabelId>(parts_.prototype->index);
    const LabelMark* mark = body_.mark(label);
    const ir::Function& function = body_.function();
    if (mark != nullptr && mark->kind == LabelMark::Kind::CallPrototype) {
      const ir::CallPrototype& prototype = function.prototypes[mark->index];
      against({body_.label_name(label), prototype.parameters, prototype.returns,
               loc_of(function.body[mark->statement])});
    } else if (mark != nullptr && mark->kind == LabelMark::Kind::CallTargets) {
      for (const ir::Symbol target : function.call_targets[mark->index]) {
        const ir::Function* callee = findings_.functions.find(target);
        if (callee == nullptr) continue;
        against({findings_.name(target), callee->parameters, callee->returns, callee->loc});
        return;
      }
    } else {
      wrong_label(label);
    }
  }

  void wrong_label(ir::LabelId label) {
    findings_.add(
        Diagnostic(Kind::LabelKind, {body_.label_name(label), "no prototype declared above", "call",
                                     "a .callprototype or .calltargets list above it"})
            .at(instruction_.loc, focus(parts_.prototype_at))
            .see(kCallAnchor));
  }

  void against(const Prototype& prototype) {
    const std::size_t wanted = prototype.parameters.size();
    const std::size_t given = parts_.arguments.size();
    const bool is_open = wanted > 0 && prototype.parameters.back().count == 0U;
    if (given != wanted && !(is_open && given + 1 == wanted)) {
      miscounted(prototype, counted(wanted, "argument"), counted(given, "argument"));
    } else {
      values(prototype, parts_.arguments, prototype.parameters, parts_.arguments_at, false);
    }
    if (parts_.results.size() != prototype.results.size()) {
      miscounted(prototype, counted(prototype.results.size(), "result"),
                 counted(parts_.results.size(), "result"));
    } else {
      values(prototype, parts_.results, prototype.results, parts_.results_at, true);
    }
  }

  void values(const Prototype& prototype, std::span<const ir::Operand> operands,
              std::span<const ir::Variable> parameters, std::size_t at, bool is_result) {
    for (std::size_t i = 0; i < operands.size(); ++i) {
      const std::string misfit = misfit_of(operands[i], parameters[i], is_result);
      if (misfit.empty()) continue;
      const std::string what = (is_result ? "result " : "argument ") + std::to_string(i + 1);
      findings_.add(
          Diagnostic(Kind::CallArgument, {what, prototype.name, describe(parameters[i]), misfit})
              .at(instruction_.loc, focus(at))
              .label(prototype.loc, "the prototype")
              .see(kCallAnchor));
    }
  }

  /// What the operand is, when it does not fit; empty when it does.
  std::string misfit_of(const ir::Operand& operand, const ir::Variable& parameter,
                        bool is_result) const {
    switch (operand.kind) {
      case OperandKind::Register:
        if (operand.component != 0) return "a part of a register";
        return register_misfit(operand, parameter);
      case OperandKind::Symbol:
        if (operand.value != 0) return "an address";
        return variable_misfit(static_cast<ir::Symbol>(operand.index), parameter);
      case OperandKind::Integer:
        if (is_result) return {};
        if (parameter.count) return "a literal";
        return isa::info(parameter.type).kind == TypeKind::Float ? "an integer literal" : "";
      case OperandKind::Float32:
      case OperandKind::Float64: {
        if (is_result) return {};
        if (parameter.count) return "a literal";
        const TypeKind kind = isa::info(parameter.type).kind;
        const bool is_integer = kind == TypeKind::Unsigned || kind == TypeKind::Signed;
        return is_integer ? "a floating-point literal" : "";
      }
      case OperandKind::Sink:
        return is_result ? "" : "'_'";
      default:
        return "something that cannot be passed";
    }
  }

  std::string register_misfit(const ir::Operand& operand, const ir::Variable& parameter) const {
    const ir::Register& reg = body_.function().at(operand.register_id());
    const isa::TypeInfo& type = isa::info(reg.declared);
    const unsigned elements = std::max<unsigned>(reg.vector, 1);
    std::string text = "register ." + std::string(type.name);
    if (parameter.count) return text;
    const bool is_predicate = type.kind == TypeKind::Predicate;
    if (is_predicate != (isa::info(parameter.type).kind == TypeKind::Predicate)) return text;
    if (is_predicate) return {};
    const unsigned bytes = type.bits / 8U * elements;
    if (bytes != parameter.size()) return text;
    return parameter.alignment() == bytes ? "" : text + ", aligned to " + std::to_string(bytes);
  }

  std::string variable_misfit(ir::Symbol symbol, const ir::Variable& parameter) const {
    const Named named = body_.named(symbol);
    if (named.variable == nullptr) return {};
    const ir::Variable& variable = *named.variable;
    std::string text = describe(variable);
    if (variable.space != ir::Space::Param) return "a variable that is not in .param";
    if (named.origin != Named::Origin::Body) return "a parameter of the caller itself";
    if (variable.count.has_value() != parameter.count.has_value()) return text;
    if (parameter.count != 0U && variable.size() != parameter.size()) return text;
    if (variable.alignment() != parameter.alignment()) {
      return text + ", aligned to " + std::to_string(variable.alignment());
    }
    return {};
  }

  void miscounted(const Prototype& prototype, std::string wanted, std::string given) {
    findings_.add(Diagnostic(Kind::CallCount, {prototype.name, std::move(wanted), std::move(given)})
                      .at(instruction_.loc)
                      .label(prototype.loc, "the prototype")
                      .see(kCallAnchor));
  }

  void refuse_target(ir::Symbol symbol, std::string why) {
    findings_.add(Diagnostic(Kind::CallTarget, {findings_.name(symbol), std::move(why)})
                      .at(instruction_.loc, focus(parts_.target_at))
                      .see(kCallAnchor));
  }

  static Focus focus(std::size_t operand) {
    return {Focus::Part::Operand, static_cast<std::uint16_t>(operand)};
  }

  BodyCheck& body_;
  Findings& findings_;
  const ir::Instruction& instruction_;
  CallParts parts_;
};

}  // namespace

void check_call(BodyCheck& body, const ir::Instruction& instruction) {
  CallCheck(body, instruction).run();
}

}  // namespace pyptx::verify
