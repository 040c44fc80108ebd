// SPDX-License-Identifier: Apache-2.0
//
// Why a spelling is not legal, in words: the modifier at fault and the nearest legal spellings.
// Runs only when matching has failed, so it may try many edits; it never enumerates a form.
#pragma once

#include <span>
#include <string_view>

#include "pyptx/diag/diagnostic.h"
#include "pyptx/isa/id.h"
#include "pyptx/isa/spelling.h"

namespace pyptx::isa {

/// `opcode` is in no row.
diag::Diagnostic unknown_opcode(std::string_view opcode, Detail detail);

/// No form of `opcode` matches. `modifiers` are the texts as written.
diag::Diagnostic explain_mismatch(Opcode opcode, std::span<const std::string_view> modifiers,
                                  Detail detail);

}  // namespace pyptx::isa
