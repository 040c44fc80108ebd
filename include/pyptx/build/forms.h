// SPDX-License-Identifier: Apache-2.0
//
// Instructions whose type is a value, for kernels that are written for several types: which
// spelling a type asks for, and numbers as literals of that type. The table judges what is spelled.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pyptx/build/tracer.h"

namespace pyptx::build::forms {

/// "opcode.type"
std::string spelling(std::string_view opcode, isa::Type type);
/// "mul", with `mode` or, where integers have none, with the low half's.
std::string mul(isa::Type type, const std::optional<std::string>& mode);
/// "mad.mode", or for floats "fma.rn".
std::string mad(isa::Type type, std::string_view mode);
/// "setp.comparison"
std::string setp(std::string_view comparison);

/// What a conversion does besides.
struct Conversion {
  std::string rounding = {};  // "rn", "rni", ...; empty: none
  bool ftz = false;
  bool sat = false;
};
/// "cvt.rounding.ftz.sat.to.from"
std::string cvt(isa::Type to, isa::Type from, const Conversion& how);

/// Makes the integers among the operands of a float type floats, as their author means them.
void fit_literals(isa::Type type, std::vector<ir::Operand>& operands);

}  // namespace pyptx::build::forms
