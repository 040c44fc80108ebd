// SPDX-License-Identifier: Apache-2.0
#include "header.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include "availability.h"
#include "prototype.h"

namespace pyptx::verify {
namespace {

using diag::Diagnostic;
using diag::Kind;

constexpr std::string_view kTargetAnchor = "ptx-module-directives-target";

void check_target_options(Findings& findings) {
  const ir::Module& module = findings.module();
  std::string_view texmode;
  for (const ir::TargetOption& given : module.target_options) {
    const std::string_view option = module.text(given.name);
    const isa::TargetOptionInfo* info = isa::find_target_option(option);
    const auto refuse = [&](std::string why) {
      findings.add(Diagnostic(Kind::TargetOption, {std::string(option), std::move(why)})
                       .at(given.loc)
                       .see(kTargetAnchor));
    };
    if (info == nullptr) {
      refuse("there is no such option");
    } else if (!info->group.empty() && !texmode.empty() && texmode != option) {
      refuse("the module says " + std::string(texmode) + " already");
    } else if (option == "map_f64_to_f32") {
      refuse("targets from sm_13 on have .f64");
    } else if (option == "debug" && module.sections.empty()) {
      refuse("the module has no .section with debugging data");
    }
    if (info != nullptr && !info->group.empty()) texmode = option;
  }
}

}  // namespace

void check_header(Findings& findings) {
  const ir::Module& module = findings.module();
  const isa::Version needed = module.target.minimum_version();
  if (module.version < needed) {
    Diagnostic diagnostic(Kind::VersionForTarget,
                          {module.target.text(), needed.text(), module.version.text()});
    diagnostic.loc = module.version_loc;
    diagnostic->manual = kTargetAnchor;
    diagnostic->needed.version = needed.text();
    diagnostic->present.version = module.version.text();
    if (module.target_loc != diag::Loc::None) {
      diagnostic->labels.push_back({"needs it", module.target_loc});
    }
    findings.add(std::move(diagnostic));
  }
  check_target_options(findings);
}

void check_pragma(Findings& findings, ir::Symbol text, isa::DirectivePlace place, diag::Loc loc) {
  const ir::Module& module = findings.module();
  const std::string_view whole = module.text(text);
  const std::string_view word = whole.substr(0, whole.find(' '));
  const isa::PragmaInfo* pragma = isa::find_pragma(word);
  if (pragma == nullptr) {
    findings.add(
        Diagnostic(Kind::UnknownPragma, {std::string(whole)}).at(loc).see("pragma-strings"));
    return;
  }
  const std::string quoted = ".pragma \"" + std::string(word) + "\"";
  if (!isa::has(pragma->places, place)) {
    const std::string why = "it is for the body of a function";
    findings.add((pragma->is_checked ? Diagnostic(Kind::MisplacedDirective, {quoted, why})
                                     : Diagnostic(Kind::DirectiveIgnored, {quoted, why}))
                     .at(loc)
                     .see(pragma->manual));
  } else if (!is_available(module, pragma->needs)) {
    findings.add(unavailable(module, pragma->needs, quoted).at(loc).see(pragma->manual));
  }
}

void check_alias(Findings& findings, const ir::Alias& alias) {
  const auto refuse = [&](std::string why) {
    findings.add(Diagnostic(Kind::AliasRule, {findings.name(alias.name), std::move(why)})
                     .at(alias.loc)
                     .see("specifying-kernel-entry-points-and-functions-alias"));
  };
  const ir::Function* name = findings.functions.find(alias.name);
  const ir::Function* aliasee = findings.functions.find(alias.aliasee);
  if (const auto* info = isa::find_directive("alias", isa::DirectivePlace::Module);
      info != nullptr && !is_available(findings.module(), info->needs)) {
    findings.add(
        unavailable(findings.module(), info->needs, ".alias").at(alias.loc).see(info->manual));
  }
  if (name == nullptr) return refuse("no function of this name is declared before it");
  if (aliasee == nullptr) {
    return refuse("no function '" + findings.name(alias.aliasee) + "' is declared before it");
  }
  if (name->is_entry || aliasee->is_entry) return refuse("an entry has no alias");
  if (findings.aliased.find(alias.name) != nullptr) return refuse("it is an alias already");
  findings.aliased.set(alias.name, &alias);
  if (!name->is_declaration) return refuse("it has a body of its own");
  if (aliasee->linkage == ir::Linkage::Weak) {
    return refuse("'" + findings.name(alias.aliasee) + "' is .weak");
  }
  if (const auto difference = prototype_difference(*name, *aliasee)) {
    refuse("'" + findings.name(alias.aliasee) + "' has " + std::string(*difference));
  }
}

}  // namespace pyptx::verify
