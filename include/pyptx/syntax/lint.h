// SPDX-License-Identifier: Apache-2.0
//
// What reads as something else than it says, and is gone once the text is a module. What
// instructions and declarations do against the manual is verify's to find.
#pragma once

#include <string_view>

#include "pyptx/diag/diagnostic.h"
#include "pyptx/syntax/token.h"

namespace pyptx::syntax {

/// Findings in the order of the text; their places are those of the tokens.
diag::Diagnostics lint(const TokenBuffer& tokens, std::string_view text);

}  // namespace pyptx::syntax
