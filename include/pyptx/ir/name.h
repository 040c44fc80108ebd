// SPDX-License-Identifier: Apache-2.0
//
// Which words may be names. PTX ISA, section 4.4 (Identifiers).
#pragma once

#include <string_view>

namespace pyptx::ir {

/// A letter, or _, $ or % and one more character; then letters, digits, _ and $. WARP_SZ is a
/// constant and no name.
bool is_identifier(std::string_view text);

}  // namespace pyptx::ir
