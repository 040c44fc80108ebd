// SPDX-License-Identifier: Apache-2.0
//
// Walks the parts of a module in their order and leaves each to its own check.
#include "pyptx/verify/module.h"

#include <algorithm>

#include "body.h"
#include "declaration.h"
#include "findings.h"
#include "header.h"
#include "memory_limits.h"
#include "prototype.h"

namespace pyptx::verify {
namespace {

class ModuleCheck {
 public:
  explicit ModuleCheck(Findings& findings)
      : findings_(findings), module_(findings.module()), body_(findings) {}

  void run() {
    check_header(findings_);
    for (const ir::Item& item : module_.parts()) this->item(item);
    check_memory_limits(findings_);
  }

 private:
  void item(const ir::Item& item) {
    switch (item.kind) {
      case ir::ItemKind::Variable:
        variable(module_.variables[item.index]);
        break;
      case ir::ItemKind::Function:
        function(*module_.functions[item.index]);
        break;
      case ir::ItemKind::Pragma:
        check_pragma(findings_, static_cast<ir::Symbol>(item.index), isa::DirectivePlace::Module,
                     diag::LocationTable::token(item.tokens.first));
        break;
      case ir::ItemKind::Alias:
        check_alias(findings_, module_.aliases[item.index]);
        break;
      default:
        break;
    }
  }

  void variable(const ir::Variable& variable) {
    check_redeclaration(findings_, variable);
    check_variable(findings_, variable, Level::Module);
    findings_.variables.set(variable.name, &variable);
  }

  void function(const ir::Function& function) {
    check_redeclaration(findings_, function);
    check_parameters(findings_, function);
    check_directives(findings_, function);
    // Before the body: a function may call itself.
    const ir::Function* earlier = findings_.functions.find(function.name);
    if (earlier == nullptr || earlier->is_declaration) {
      findings_.functions.set(function.name, &function);
    }
    if (!function.is_declaration) body_.run(function);
  }

  Findings& findings_;
  const ir::Module& module_;
  BodyCheck body_;
};

}  // namespace

bool has_known_header(const ir::Module& module) {
  const auto versions = isa::all_versions();
  return module.unknown_target == ir::Symbol::None &&
         std::ranges::find(versions, module.version) != versions.end();
}

diag::Diagnostics verify_module(const ir::Module& module, const ModuleOptions& options) {
  if (!has_known_header(module)) return {};
  Findings findings(module, options);
  ModuleCheck(findings).run();
  return findings.take();
}

}  // namespace pyptx::verify
