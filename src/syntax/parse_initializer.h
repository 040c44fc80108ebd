// SPDX-License-Identifier: Apache-2.0
//
// Initialisers of variables. PTX ISA, sections 5.4.4 (Initializers) and 5.3 (Texture Sampler and
// Surface Types).
#pragma once

#include "parse_context.h"
#include "pyptx/ir/module.h"

namespace pyptx::syntax {

/// What follows the `=` of `variable`, kept as it is written. Braces follow the extents of the
/// variable; rows may be given in part. An array without a size gets the size of its initialiser.
/// False after a report.
bool parse_initializer(ParseContext& context, ir::Variable& variable);

}  // namespace pyptx::syntax
