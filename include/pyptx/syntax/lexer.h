// SPDX-License-Identifier: Apache-2.0
//
// Text -> tokens. Every byte ends up in a token or in the trivia of one; the lexer decides what a
// word is, never what it means. PTX ISA, sections 4.1 (Source Format) to 4.5 (Constants); where the
// manual and the assembler differ the assembler's reading is taken.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>

#include "pyptx/diag/diagnostic.h"
#include "pyptx/diag/loc.h"
#include "pyptx/syntax/token.h"

namespace pyptx::syntax {

/// Places are 32 bits wide, and the end of a text is one of them.
inline constexpr std::size_t kMaxTextBytes = std::numeric_limits<std::uint32_t>::max() - 1;

/// The tokens of `text`. What is not PTX (PTX0001..PTX0007) is reported to `diagnostics`, with
/// locations added to `locations`, and skipped; the rest of the text is still read. A text that
/// is too large is not.
TokenBuffer lex(std::string_view text, diag::LocationTable& locations,
                diag::Diagnostics& diagnostics);

}  // namespace pyptx::syntax
