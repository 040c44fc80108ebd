// SPDX-License-Identifier: Apache-2.0
//
// Functions as declarations: prototypes against each other, linkage, parameters, directives. PTX
// ISA, sections 7.1 (Function Declarations and Definitions), 11.2 and 11.6 (Linking Directives).
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "findings.h"

namespace pyptx::verify {

/// How the parameters or results of `later` differ from `earlier`: "another number of parameters".
std::optional<std::string_view> prototype_difference(const ir::Function& earlier,
                                                     const ir::Function& later);

/// `function` against what was declared under its name before.
void check_redeclaration(Findings& findings, const ir::Function& function);
void check_redeclaration(Findings& findings, const ir::Variable& variable);

/// Parameters and results of a function.
void check_parameters(Findings& findings, const ir::Function& function);

/// The same for a .callprototype at `loc`.
void check_parameters(Findings& findings, const ir::CallPrototype& prototype, diag::Loc loc);

/// The directives between the parameters and the body.
void check_directives(Findings& findings, const ir::Function& function);

}  // namespace pyptx::verify
