// SPDX-License-Identifier: Apache-2.0
//
// Expressions of three values: a choice, and a product with a sum. See operators.h.
// PTX ISA, "selp", "mad", "fma".
#include <cstdint>
#include <string>
#include <string_view>

#include "arguments.h"
#include "pyptx/build/operators.h"
#include "pyptx/support/concat.h"
#include "sides.h"
#include "types.h"

namespace pyptx::build {
namespace {

using support::concat;

/// Of a choice between two literals.
isa::Type type_of_literals(const Value& a, const Value& b) {
  if (a.real() != nullptr || b.real() != nullptr) return isa::Type::F32;
  const bool is_signed = *a.integer() < 0 || *b.integer() < 0;
  return is_signed ? isa::Type::S32 : isa::Type::U32;
}

bool is_literal(const Value& value) { return value.reg() == nullptr; }

/// Whether `sum` is a register that holds twice the bits of integers of `type`.
bool is_wide_sum(const Value& sum, isa::Type type) {
  const Reg* reg = sum.reg();
  if (reg == nullptr || !is_integer(type) || !is_integer(reg->type)) return false;
  return bits(type) >= 16 && bits(reg->type) == 2 * bits(type);
}

}  // namespace

Reg select(Tracer& tracer, Guard condition, Value a, Value b) {
  const Expansion here(tracer, "ptx.select(...)");
  if (!condition.predicate) {
    refuse(tracer, {"the condition of select", "pred"}, "a predicate", "none");
    return {};
  }
  const isa::Type type =
      is_literal(a) && is_literal(b) ? type_of_literals(a, b) : common_type(tracer, "select", a, b);
  if (tracer.has_error()) return {};
  if (type == isa::Type::Pred || bits(type) > 64) {
    refuse_operator(tracer, "select", type);
    return {};
  }
  const ir::Operand yes = operand(tracer, condition.negated ? b : a, type, "select");
  const ir::Operand no = operand(tracer, condition.negated ? a : b, type, "select");
  if (tracer.has_error()) return {};
  const Reg result = tracer.reg(type);
  tracer.emit(concat("selp.", isa::info(move_type(type)).name),
              {result, yes, no, *condition.predicate});
  return result;
}

Reg multiply_add(Tracer& tracer, Value a, Value b, Value c) {
  const Expansion here(tracer, "ptx.mad(...)");
  if (is_literal(a) && is_literal(b)) {
    refuse(tracer, {"a factor of mad", "a|operands"}, "a register", "two numbers");
    return {};
  }
  const isa::Type factors = common_type(tracer, "mad", a, b);
  if (tracer.has_error()) return {};
  if (!is_integer(factors) && !is_arithmetic_float(factors)) {
    refuse_operator(tracer, "mad", factors);
    return {};
  }
  const bool is_wide = is_wide_sum(c, factors);
  const isa::Type type = is_wide ? c.reg()->type : factors;
  const isa::Type named = is_integer(factors) ? arithmetic_type(factors) : factors;
  const std::string_view opcode = !is_integer(factors) ? "fma.rn."
                                  : is_wide            ? "mad.wide."
                                                       : "mad.lo.";
  const ir::Operand left = operand(tracer, a, factors, "mad");
  const ir::Operand right = operand(tracer, b, factors, "mad");
  const ir::Operand sum = operand(tracer, c, type, "mad");
  if (tracer.has_error()) return {};
  const Reg result = tracer.reg(bits(type) == 8 ? named : type);
  tracer.emit(concat(opcode, isa::info(named).name), {result, left, right, sum});
  return result;
}

}  // namespace pyptx::build
