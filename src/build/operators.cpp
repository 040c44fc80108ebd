// SPDX-License-Identifier: Apache-2.0
//
// Which instruction an operator is. See operators.h.
#include "pyptx/build/operators.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "pyptx/support/concat.h"
#include "types.h"

namespace pyptx::build {
namespace {

using support::concat;

struct OpFacts {
  std::string_view text;     // what the author wrote
  const char* shown;         // as an expansion
  std::string_view integer;  // opcode for integers; .type follows
  std::string_view real;     // for floats; empty: not defined
  bool is_bitwise = false;   // takes .bN and .pred
  bool is_shift = false;
};

constexpr OpFacts kOps[] = {
    {"+", "operator +", "add", "add"},
    {"-", "operator -", "sub", "sub"},
    {"*", "operator *", "mul.lo", "mul"},
    {"/", "operator /", "div", "div.rn"},
    {"%", "operator %", "rem", ""},
    {"<<", "operator <<", "shl", "", false, true},
    {">>", "operator >>", "shr", "", false, true},
    {"&", "operator &", "and", "", true},
    {"|", "operator |", "or", "", true},
    {"^", "operator ^", "xor", "", true},
    {"max", "max(...)", "max", "max"},
    {"min", "min(...)", "min", "min"},
};

// one-place: spelled into setp, which the table judges.
constexpr std::string_view kComparisons[] = {"eq", "ne", "lt", "le", "gt", "ge"};
constexpr std::string_view kComparisonTexts[] = {"==", "!=", "<", "<=", ">", ">="};
constexpr const char* kComparisonsShown[] = {"operator ==", "operator !=", "operator <",
                                             "operator <=", "operator >",  "operator >="};

/// The type both sides are brought to, or None after a report.
isa::Type common_type(Tracer& tracer, std::string_view what, const Value& a, const Value& b) {
  const Reg* left = a.reg();
  const Reg* right = b.reg();
  if (left == nullptr || right == nullptr) return (left != nullptr ? left : right)->type;
  const isa::Type x = left->type;
  const isa::Type y = right->type;
  if (x == y) return x;
  const bool both_integer = is_integer(x) && is_integer(y);
  if (both_integer) {
    if (bits(x) != bits(y)) return bits(x) > bits(y) ? x : y;
    // As in C, whichever side stands left: unsigned wins; bits follow the other side.
    if (kind(x) == isa::TypeKind::Bits) return y;
    return kind(y) == isa::TypeKind::Unsigned ? y : x;
  }
  tracer.report(
      diag::Diagnostic(diag::Kind::MixedTypes, {std::string(what), type_text(x), type_text(y)})
          .note(conversion_advice(x, y)));
  return isa::Type::None;
}

/// Where order matters a literal outside the type would be read as another number: u32 < -1.
void check_order(Tracer& tracer, const Value& value, isa::Type type) {
  if (value.integer() == nullptr || !is_integer(type)) return;
  if (is_in_range(*value.integer(), type)) return;
  tracer.report(diag::Diagnostic(diag::Kind::LiteralRange,
                                 {std::to_string(*value.integer()), type_text(type)})
                    .note("the instruction would read it as another number"));
}

bool is_ordered(BinaryOp op) {
  return op == BinaryOp::Div || op == BinaryOp::Rem || op == BinaryOp::Max || op == BinaryOp::Min;
}

/// The type in the instruction's name, or None after a report.
isa::Type instruction_type(Tracer& tracer, BinaryOp op, isa::Type type) {
  const OpFacts& facts = kOps[static_cast<std::size_t>(op)];
  if (facts.is_bitwise && type == isa::Type::Pred) return type;
  if (is_integer(type)) {
    if (facts.is_bitwise || op == BinaryOp::Shl) return bit_type(type);
    return arithmetic_type(type);
  }
  if (is_arithmetic_float(type) && !facts.real.empty()) return type;
  tracer.report({diag::Kind::OperatorType, {std::string(facts.text), type_text(type)}});
  return isa::Type::None;
}

std::string spelling_of(BinaryOp op, isa::Type type) {
  const OpFacts& facts = kOps[static_cast<std::size_t>(op)];
  const bool is_real = kind(type) == isa::TypeKind::Float;
  // mul.f16 and friends have no .lo, and f64 division needs its rounding just as f32 does.
  return concat(is_real ? facts.real : facts.integer, ".", isa::info(type).name);
}

/// A shift count: 32 bits whatever the shifted type is.
ir::Operand shift_count(Tracer& tracer, const Value& count) {
  if (const Reg* reg = count.reg()) {
    if (!is_integer(reg->type)) {
      tracer.report({diag::Kind::OperatorType, {"shift", type_text(reg->type)}});
    }
    return bits(reg->type) == 32 ? *reg : convert(tracer, *reg, isa::Type::U32);
  }
  check_order(tracer, count, isa::Type::U32);
  return operand(tracer, count, isa::Type::U32, "shift");
}

struct Sides {
  ir::Operand a;
  ir::Operand b;
};

Sides sides(Tracer& tracer, BinaryOp op, const Value& a, const Value& b, isa::Type type) {
  const OpFacts& facts = kOps[static_cast<std::size_t>(op)];
  Sides result;
  if (is_ordered(op)) {
    check_order(tracer, a, type);
    check_order(tracer, b, type);
  }
  result.a = operand(tracer, a, type, facts.text);
  result.b = facts.is_shift ? shift_count(tracer, b) : operand(tracer, b, type, facts.text);
  return result;
}

}  // namespace

Reg binary(Tracer& tracer, BinaryOp op, Value a, Value b) {
  const OpFacts& facts = kOps[static_cast<std::size_t>(op)];
  const Expansion here(tracer, facts.shown);
  isa::Type type = isa::Type::None;
  if (facts.is_shift) {
    // A literal on the left has no type of its own; 1 << n is a 32-bit word.
    type = a.reg() != nullptr ? a.reg()->type : isa::Type::U32;
  } else {
    type = common_type(tracer, facts.text, a, b);
  }
  if (tracer.has_error()) return {};
  const isa::Type named = instruction_type(tracer, op, type);
  if (tracer.has_error()) return {};
  const Sides in = sides(tracer, op, a, b, type);
  if (tracer.has_error()) return {};
  const Reg result = tracer.reg(bits(type) == 8 ? named : type);
  tracer.emit(spelling_of(op, named), {result, in.a, in.b});
  return result;
}

Reg update(Tracer& tracer, BinaryOp op, Reg destination, Value b) {
  const Expansion here(tracer, kOps[static_cast<std::size_t>(op)].shown);
  const isa::Type named = instruction_type(tracer, op, destination.type);
  if (tracer.has_error()) return destination;
  if (const Reg* reg = b.reg(); reg != nullptr && !kOps[static_cast<std::size_t>(op)].is_shift &&
                                is_integer(reg->type) && bits(reg->type) > bits(destination.type)) {
    tracer.report(
        diag::Diagnostic(diag::Kind::MixedTypes,
                         {concat(kOps[static_cast<std::size_t>(op)].text, "="),
                          type_text(destination.type), type_text(reg->type)})
            .note("in place the result keeps the register's type, and the other side is wider"));
    return destination;
  }
  const Sides in = sides(tracer, op, destination, b, destination.type);
  tracer.emit(spelling_of(op, named), {destination, in.a, in.b});
  // The instruction works on 16 bits; an 8-bit register keeps a value of its own type.
  if (bits(destination.type) == 8) {
    const bool is_signed = kind(destination.type) == isa::TypeKind::Signed;
    tracer.emit(is_signed ? "cvt.s16.s8" : "cvt.u16.u8", {destination, destination});
  }
  return destination;
}

Reg compare(Tracer& tracer, Comparison comparison, Value a, Value b) {
  const auto index = static_cast<std::size_t>(comparison);
  const Expansion here(tracer, kComparisonsShown[index]);
  const isa::Type type = common_type(tracer, kComparisonTexts[index], a, b);
  if (tracer.has_error()) return {};
  const bool is_equality = comparison == Comparison::Eq || comparison == Comparison::Ne;
  isa::Type named = type;
  if (is_integer(type)) {
    const bool is_bits = kind(type) == isa::TypeKind::Bits && bits(type) > 8;
    named = is_bits && is_equality ? type : arithmetic_type(type);
  } else if (!is_arithmetic_float(type) || is_packed(type)) {
    tracer.report(
        {diag::Kind::OperatorType, {std::string(kComparisonTexts[index]), type_text(type)}});
    return {};
  }
  if (!is_equality) {
    check_order(tracer, a, type);
    check_order(tracer, b, type);
  }
  const ir::Operand left = operand(tracer, a, type, kComparisonTexts[index]);
  const ir::Operand right = operand(tracer, b, type, kComparisonTexts[index]);
  if (tracer.has_error()) return {};
  const bool is_unordered = comparison == Comparison::Ne && kind(type) == isa::TypeKind::Float;
  const Reg result = tracer.reg(isa::Type::Pred);
  tracer.emit(
      concat("setp.", is_unordered ? "neu" : kComparisons[index], ".", isa::info(named).name),
      {result, left, right});
  return result;
}

namespace {

Reg unary(Tracer& tracer, std::string_view opcode, std::string_view what, Reg a, isa::Type named) {
  if (named == isa::Type::None) {
    tracer.report({diag::Kind::OperatorType, {std::string(what), type_text(a.type)}});
    return {};
  }
  const Reg result = tracer.reg(bits(a.type) == 8 ? named : a.type);
  tracer.emit(concat(opcode, ".", isa::info(named).name), {result, a});
  return result;
}

/// neg and abs exist for signed integers and floats.
isa::Type signed_or_float(isa::Type type) {
  if (is_arithmetic_float(type)) return type;
  return is_integer(type) ? signed_type(type) : isa::Type::None;
}

}  // namespace

Reg negate(Tracer& tracer, Reg a) { return unary(tracer, "neg", "-", a, signed_or_float(a.type)); }

Reg absolute(Tracer& tracer, Reg a) {
  const bool is_unsigned = is_integer(a.type) && kind(a.type) != isa::TypeKind::Signed;
  return unary(tracer, "abs", "abs", a, is_unsigned ? isa::Type::None : signed_or_float(a.type));
}

Reg complement(Tracer& tracer, Reg a) {
  isa::Type named = isa::Type::None;
  if (a.type == isa::Type::Pred) named = a.type;
  if (is_integer(a.type)) named = bit_type(a.type);
  return unary(tracer, "not", "~", a, named);
}

}  // namespace pyptx::build
