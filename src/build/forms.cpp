// SPDX-License-Identifier: Apache-2.0
#include "pyptx/build/forms.h"

#include "pyptx/support/concat.h"

namespace pyptx::build::forms {
namespace {

using support::concat;

bool is_float(isa::Type type) { return isa::info(type).kind == isa::TypeKind::Float; }

}  // namespace

std::string spelling(std::string_view opcode, isa::Type type) {
  return concat(opcode, ".", isa::info(type).name);
}

std::string mul(isa::Type type, const std::optional<std::string>& mode) {
  if (mode) return concat("mul.", *mode);
  return is_float(type) ? "mul" : "mul.lo";
}

std::string mad(isa::Type type, std::string_view mode) {
  return is_float(type) ? "fma.rn" : concat("mad.", mode);
}

std::string setp(std::string_view comparison) { return concat("setp.", comparison); }

std::string cvt(isa::Type to, isa::Type from, const Conversion& how) {
  return concat("cvt", how.rounding.empty() ? "" : concat(".", how.rounding), how.ftz ? ".ftz" : "",
                how.sat ? ".sat" : "", ".", isa::info(to).name, ".", isa::info(from).name);
}

void fit_literals(isa::Type type, std::vector<ir::Operand>& operands) {
  if (!is_float(type)) return;
  for (ir::Operand& operand : operands) {
    if (operand.kind != ir::OperandKind::Integer) continue;
    operand = ir::Operand::f64(static_cast<double>(operand.value));
  }
}

}  // namespace pyptx::build::forms
