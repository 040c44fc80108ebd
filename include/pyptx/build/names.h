// SPDX-License-Identifier: Apache-2.0
//
// Operands by their text in PTX: "%tid.x", "%r3", "_", the name of a variable; and what only video
// instructions have, "-%r3" and "%r3.b0".
#pragma once

#include <cstdint>
#include <string_view>

#include "pyptx/build/tracer.h"

namespace pyptx::build {

/// What `text` means as the operand that `focus` names; reports a register that is not declared. A
/// variable is looked for when the trace is finished.
ir::Operand named(Tracer& tracer, std::string_view text, diag::Focus focus);
inline ir::Operand named(Tracer& tracer, std::string_view text, std::uint16_t index) {
  return named(tracer, text, diag::Focus{diag::Focus::Part::Operand, index});
}

}  // namespace pyptx::build
