// SPDX-License-Identifier: Apache-2.0
//
// The selectors of video instructions (r.b0, r.h1, r.b7610) as Operand::value holds them.
// PTX ISA, "Video Instructions".
#pragma once

#include <cstdint>
#include <string_view>

namespace pyptx::ir {

/// The characters of "b0", "h1", "b7610", the first in the lowest byte; 0 for what is no selector.
std::int64_t video_selector(std::string_view text);

}  // namespace pyptx::ir
