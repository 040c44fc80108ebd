// SPDX-License-Identifier: Apache-2.0
//
// The parts of a module outside its functions. PTX ISA, section 11.1 (PTX Module Directives), 11.4
// (pragmas) and 11.2.3 (.alias).
#pragma once

#include "findings.h"
#include "pyptx/isa/directive.h"

namespace pyptx::verify {

/// Version, target and target options.
void check_header(Findings& findings);

/// A pragma at module level, among the directives of an entry, or in a body.
void check_pragma(Findings& findings, ir::Symbol text, isa::DirectivePlace place, diag::Loc loc);

void check_alias(Findings& findings, const ir::Alias& alias);

}  // namespace pyptx::verify
