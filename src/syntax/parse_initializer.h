// SPDX-License-Identifier: Apache-2.0
//
// Initialisers of variables. PTX ISA, section 5.4.4 (Initializers).
#pragma once

#include "parse_context.h"
#include "pyptx/ir/module.h"

namespace pyptx::syntax {

/// What follows the `=` of `variable`. The values are stored flat, in memory order; the last ones
/// may be missing. An array without a size gets the size of its initialiser. False after a report.
/// Addresses (`= sym`, `= generic(sym)`) have no place in the IR and are refused.
bool parse_initializer(ParseContext& context, ir::Variable& variable);

}  // namespace pyptx::syntax
