// SPDX-License-Identifier: Apache-2.0
#include "prototype.h"

#include <algorithm>
#include <string>

namespace pyptx::verify {
namespace {

using diag::Diagnostic;
using diag::Kind;
using ir::Linkage;

bool has_directive(const ir::Module& module, const ir::Function& function, std::string_view name) {
  return std::ranges::any_of(function.directives, [&](const ir::Directive& directive) {
    return module.text(directive.name) == name;
  });
}

std::optional<std::string_view> list_difference(std::span<const ir::Variable> earlier,
                                                std::span<const ir::Variable> later) {
  if (earlier.size() != later.size()) return "another number of parameters or results";
  for (std::size_t i = 0; i < earlier.size(); ++i) {
    const ir::Variable& a = earlier[i];
    const ir::Variable& b = later[i];
    if (a.space != b.space) return "a parameter in another state space";
    if (a.type != b.type || a.vector != b.vector || a.count != b.count) {
      return "a parameter of another type";
    }
    if (a.alignment() != b.alignment()) return "a parameter of another alignment";
  }
  return std::nullopt;
}

std::string_view text_of(Linkage linkage) {
  switch (linkage) {
    case Linkage::None:
      return "no linkage";
    case Linkage::Extern:
      return ".extern";
    case Linkage::Visible:
      return ".visible";
    case Linkage::Weak:
      return ".weak";
    case Linkage::Common:
      return ".common";
  }
  return "";
}

std::string linkage_difference(Linkage earlier, Linkage later) {
  return "first with " + std::string(text_of(earlier)) + ", then with " +
         std::string(text_of(later));
}

/// A later declaration may leave out .visible and .weak; .extern must be said by all.
bool is_same_linkage(Linkage earlier, Linkage later) {
  if (earlier == later) return true;
  return later == Linkage::None && (earlier == Linkage::Visible || earlier == Linkage::Weak);
}

std::optional<std::string> function_difference(const ir::Module& module,
                                               const ir::Function& earlier,
                                               const ir::Function& later) {
  if (earlier.is_entry != later.is_entry) return "as an .entry and as a .func";
  if (!earlier.is_declaration) {
    return later.is_declaration ? "its body comes before this declaration" : "both have a body";
  }
  if (!is_same_linkage(earlier.linkage, later.linkage)) {
    return linkage_difference(earlier.linkage, later.linkage);
  }
  if (has_directive(module, earlier, "noreturn") != has_directive(module, later, "noreturn")) {
    return "only one is .noreturn";
  }
  if (const auto difference = prototype_difference(earlier, later)) {
    return "the second has " + std::string(*difference);
  }
  return std::nullopt;
}

std::optional<std::string> variable_difference(const ir::Variable& earlier,
                                               const ir::Variable& later) {
  const bool is_second_definition =
      earlier.linkage != Linkage::Extern && later.linkage != Linkage::Extern;
  if (is_second_definition) return "both define it";
  if (earlier.linkage == Linkage::Extern && later.linkage == Linkage::None) {
    return linkage_difference(earlier.linkage, later.linkage);
  }
  if (earlier.type != later.type || earlier.vector != later.vector) return "with another type";
  const bool is_open = earlier.count == 0U || later.count == 0U;
  if (earlier.count.has_value() != later.count.has_value() ||
      (!is_open && (earlier.count != later.count || earlier.dimensions != later.dimensions))) {
    return "with another size";
  }
  return std::nullopt;
}

Diagnostic redeclared(std::string name, std::string why, diag::Loc loc, diag::Loc earlier) {
  return Diagnostic(Kind::Redeclaration, {std::move(name), std::move(why)})
      .at(loc)
      .label(earlier, "first declared here")
      .see("linking-directives");
}

}  // namespace

std::optional<std::string_view> prototype_difference(const ir::Function& earlier,
                                                     const ir::Function& later) {
  if (const auto difference = list_difference(earlier.returns, later.returns)) return difference;
  return list_difference(earlier.parameters, later.parameters);
}

void check_redeclaration(Findings& findings, const ir::Function& function) {
  const auto refuse = [&](std::string why) {
    findings.add(Diagnostic(Kind::LinkageRule, {findings.name(function.name), std::move(why)})
                     .at(function.loc)
                     .see("linking-directives"));
  };
  if (function.linkage == Linkage::Common) refuse(".common is for variables");
  if (function.linkage == Linkage::Extern && !function.is_declaration) {
    refuse("an .extern function has its body in another module");
  }
  if (const ir::Variable* variable = findings.variables.find(function.name)) {
    findings.add(redeclared(findings.name(function.name), "as a variable and as a function",
                            function.loc, variable->loc));
  }
  const ir::Function* earlier = findings.functions.find(function.name);
  if (earlier == nullptr) return;
  if (auto difference = function_difference(findings.module(), *earlier, function)) {
    findings.add(redeclared(findings.name(function.name), std::move(*difference), function.loc,
                            earlier->loc));
  }
}

void check_redeclaration(Findings& findings, const ir::Variable& variable) {
  if (const ir::Function* function = findings.functions.find(variable.name)) {
    findings.add(redeclared(findings.name(variable.name), "as a function and as a variable",
                            variable.loc, function->loc));
    return;
  }
  const ir::Variable* earlier = findings.variables.find(variable.name);
  if (earlier == nullptr) return;
  if (auto difference = variable_difference(*earlier, variable)) {
    findings.add(redeclared(findings.name(variable.name), std::move(*difference), variable.loc,
                            earlier->loc));
  }
}

}  // namespace pyptx::verify
