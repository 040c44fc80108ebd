// SPDX-License-Identifier: Apache-2.0
//
// What the parameters and results of functions may be. PTX ISA, sections 5.1.6 (Parameter State
// Space) and 7.1 (Function Declarations and Definitions).
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "declaration.h"
#include "prototype.h"
#include "pyptx/isa/limits.h"

namespace pyptx::verify {
namespace {

using diag::Diagnostic;
using diag::Kind;
using ir::Space;

constexpr std::string_view kFunctionAnchor = "function-declarations-and-definitions";
constexpr std::uint32_t kMaxFunctionAlignment = 128;

class ParameterCheck {
 public:
  ParameterCheck(Findings& findings, std::string function, diag::Loc loc)
      : findings_(findings), function_(std::move(function)), loc_(loc) {}

  void entry(std::span<const ir::Variable> parameters) {
    std::uint64_t bytes = 0;
    for (const ir::Variable& parameter : parameters) {
      if (parameter.space != Space::Param) {
        refuse(parameter, "those of an entry are in .param");
        continue;
      }
      if (parameter.count == 0U) refuse(parameter, "those of an entry have a size");
      common(parameter);
      if (isa::info(parameter.type).kind == isa::TypeKind::Opaque) continue;
      const std::uint64_t alignment = std::max<std::uint64_t>(parameter.alignment(), 1);
      bytes = (bytes + alignment - 1) / alignment * alignment + parameter.size();
    }
    const isa::Limits& limits = isa::limits(findings_.module().target);
    const bool is_old = findings_.module().version < isa::Version{8, 1};
    const std::uint64_t limit = is_old ? limits.old_parameters : limits.parameters;
    if (bytes > limit) {
      refuse(parameters.back(), "the parameters have " + std::to_string(bytes) +
                                    " bytes together, at most " + std::to_string(limit) +
                                    " are allowed");
    }
  }

  void inputs(std::span<const ir::Variable> parameters) {
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const ir::Variable& parameter = parameters[i];
      if (parameter.count == 0U && i + 1 != parameters.size()) {
        refuse(parameter, "only the last may leave its size open");
      }
      function_parameter(parameter);
    }
  }

  void results(std::span<const ir::Variable> results) {
    for (const ir::Variable& result : results) {
      if (result.count == 0U) refuse(result, "a result has a size");
      function_parameter(result);
      if (results.size() > 1 && result.space == Space::Param) {
        refuse(result, "several results are in .reg");
        return;
      }
    }
  }

  /// Whether .ptr may stand there: entries and prototypes.
  bool takes_pointers = true;
  /// Whether nothing is ever passed: ptxas does not look at predicates then.
  bool is_declaration = true;

 private:
  void function_parameter(const ir::Variable& parameter) {
    common(parameter);
    if (!takes_pointers && parameter.pointer) refuse(parameter, ".ptr is for entries");
    if (parameter.space != Space::Param) return;
    if (isa::info(parameter.type).kind == isa::TypeKind::Opaque) {
      refuse(parameter, "a ." + std::string(isa::info(parameter.type).name) + " is for entries");
    }
    if (parameter.align > kMaxFunctionAlignment) {
      refuse(parameter, "an alignment of at most 128 is allowed");
    }
  }

  void common(const ir::Variable& parameter) {
    if (parameter.pointer &&
        (parameter.pointer->space == Space::Register || parameter.pointer->space == Space::Param)) {
      refuse(parameter, "a pointer is to .const, .global, .local or .shared");
    }
    if (parameter.dimensions.size() > 1) refuse(parameter, "an array has one dimension");
    if (isa::info(parameter.type).kind == isa::TypeKind::Predicate &&
        parameter.space == Space::Param && (!is_declaration || parameter.count)) {
      refuse(parameter, "a predicate is in .reg");
    }
    check_type(findings_, parameter);
  }

  void refuse(const ir::Variable& parameter, std::string why) {
    const diag::Loc loc = parameter.loc == diag::Loc::None ? loc_ : parameter.loc;
    findings_.add(
        Diagnostic(Kind::ParameterRule, {findings_.name(parameter.name), function_, std::move(why)})
            .at(loc)
            .see(kFunctionAnchor));
  }

  Findings& findings_;
  std::string function_;
  diag::Loc loc_;
};

}  // namespace

void check_parameters(Findings& findings, const ir::Function& function) {
  if (function.parameters.empty() && function.returns.empty()) return;
  ParameterCheck check(findings, findings.name(function.name), function.loc);
  check.is_declaration = function.is_declaration;
  if (function.is_entry) return check.entry(function.parameters);
  check.takes_pointers = false;
  check.inputs(function.parameters);
  check.results(function.returns);
}

void check_parameters(Findings& findings, const ir::CallPrototype& prototype, diag::Loc loc) {
  ParameterCheck check(findings, ".callprototype", loc);
  check.inputs(prototype.parameters);
  check.results(prototype.returns);
}

}  // namespace pyptx::verify
