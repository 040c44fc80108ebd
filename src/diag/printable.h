// SPDX-License-Identifier: Apache-2.0
//
// Bytes of a source text as characters that a terminal can show: UTF-8 stays, tabs stay, anything
// else that does not print becomes \xHH. Terminal columns are counted one per character.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace pyptx::diag {

/// Bytes of the UTF-8 character that `text` begins with; 0 when it begins with none.
std::size_t utf8_length(std::string_view text);

/// `text` with what does not print escaped.
std::string printable(std::string_view text);

/// Blanks as wide as printable(text); its tabs stay tabs, whatever the terminal makes of them.
std::string blank_like(std::string_view text);

/// The columns of printable(text).
std::size_t column_count(std::string_view text);

}  // namespace pyptx::diag
