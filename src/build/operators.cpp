// SPDX-License-Identifier: Apache-2.0
//
// Which instruction an operator is. See operators.h.
#include "pyptx/build/operators.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pyptx/support/concat.h"
#include "sides.h"
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
    {"/", "operator /", "", "div.rn"},
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

/// What to write in place of an operator that a type has not.
std::string_view advice(std::string_view what, isa::Type type) {
  const bool is_whole = is_integer(type);
  if (type == isa::Type::Pred) {
    return what == "&" || what == "|" || what == "^" ? std::string_view{}
                                                     : "predicates have &, |, ^ and ~; "
                                                       "ptx.select(p, a, b) makes a number of one";
  }
  if (what == "/") {
    return is_whole ? "`//` gives the whole quotient; for a fraction convert first: "
                      "reg.from_(x, f32)"
                    : "divide in f32: reg.from_(x, f32)";
  }
  if (what == "//" || what == "%") {
    return "whole quotients are of integers; ptx.inst.cvt.rmi.f32.f32(d, x / y) rounds down";
  }
  if (what == "**") {
    return "write x * x; 2 to the power of x is ptx.inst.ex2.approx.f32(d, x)";
  }
  if (what == "@") return "matrix products are ptx.mma, ptx.wgmma and ptx.tcgen05";
  if (what == "[...]") {
    return "a register holds one value: registers by number are reg.array(type, n), memory behind "
           "an address is ptx.ld(type, d, address)";
  }
  if (what == "for ... in") {
    return "a loop up to it is `for i in ptx.range_(n)`; registers to go over are "
           "reg.array(type, n)";
  }
  // one-place: what an author has written, not an instruction.
  if (what == "abs") return "a number without sign is its own magnitude";
  // one-place: likewise.
  const bool is_shifted = what == "<<" || what == ">>" || what == "shift";
  const bool is_of_bits = is_shifted || what == "&" || what == "|" || what == "^" || what == "~";
  return is_of_bits && !is_whole ? "the bits of a float are reg.scalar(b32, x)"
                                 : std::string_view{};
}

}  // namespace

isa::Type common_type(Tracer& tracer, std::string_view what, const Value& a, const Value& b) {
  const Reg* left = a.reg();
  const Reg* right = b.reg();
  if (left == nullptr && right == nullptr) {
    tracer.report({diag::Kind::BadArgument,
                   {support::concat("one side of '", what, "'"), "a register", "two numbers"}});
    return isa::Type::None;
  }
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

void check_order(Tracer& tracer, const Value& value, isa::Type type) {
  if (value.integer() == nullptr || !is_integer(type)) return;
  if (is_in_range(*value.integer(), type)) return;
  tracer.report(diag::Diagnostic(diag::Kind::LiteralRange,
                                 {std::to_string(*value.integer()), type_text(type)})
                    .note("the instruction would read it as another number"));
}

void refuse_operator(Tracer& tracer, std::string_view what, isa::Type type) {
  auto problem = diag::Diagnostic(diag::Kind::OperatorType, {std::string(what), type_text(type)});
  if (const std::string_view words = advice(what, type); !words.empty()) {
    problem->notes.emplace_back(words);
  }
  tracer.report(std::move(problem));
}

namespace {

bool is_ordered(BinaryOp op) { return op == BinaryOp::Max || op == BinaryOp::Min; }

/// The type in the instruction's name, or None after a report.
isa::Type instruction_type(Tracer& tracer, BinaryOp op, isa::Type type) {
  const OpFacts& facts = kOps[static_cast<std::size_t>(op)];
  if (facts.is_bitwise && type == isa::Type::Pred) return type;
  if (is_integer(type) && !facts.integer.empty()) {
    if (facts.is_bitwise || op == BinaryOp::Shl) return bit_type(type);
    return arithmetic_type(type);
  }
  const bool is_divided = op == BinaryOp::Div;  // which PTX knows of f32 and f64
  const bool is_narrow = type != isa::Type::F32 && type != isa::Type::F64;
  if (is_arithmetic_float(type) && !facts.real.empty() && !(is_divided && is_narrow)) return type;
  refuse_operator(tracer, facts.text, type);
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
      refuse_operator(tracer, "shift", reg->type);
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

/// Of a pointer and a narrower number.
void check_offset(Tracer& tracer, const Value& a, const Value& b) {
  const Reg* left = a.reg();
  const Reg* right = b.reg();
  if (left == nullptr || right == nullptr || bits(left->type) == bits(right->type)) return;
  const bool is_left = bits(left->type) > bits(right->type);
  tracer.check_offset(is_left ? *left : *right, is_left ? *right : *left);
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
  if (tracer.has_large_tensors() && op == BinaryOp::Add) check_offset(tracer, a, b);
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
    refuse_operator(tracer, kComparisonTexts[index], type);
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
    refuse_operator(tracer, what, a.type);
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
