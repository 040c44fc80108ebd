// SPDX-License-Identifier: Apache-2.0
#include "parse_operand.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "constant_expression.h"
#include "number.h"
#include "pyptx/isa/type.h"

namespace pyptx::syntax {
namespace {

using ir::Operand;
using ir::OperandKind;
using isa::Accept;

constexpr int kMaxDepth = 32;
constexpr std::size_t kMaxChildren = std::numeric_limits<std::uint16_t>::max();

// What the forms of a spelling admit at this place, all together.
Accept accepted(const isa::Spelling& spelling, std::size_t index) {
  Accept set = Accept::Nothing;
  for (const isa::Candidate& candidate : spelling.candidates) {
    if (index < candidate.operands.size()) set = set | candidate.operands[index].accept;
  }
  return set;
}

std::uint8_t component_number(std::string_view word) {
  if (word.size() != 2) return 0;
  const std::size_t xyzw = std::string_view("xyzw").find(word[1]);
  if (xyzw != std::string_view::npos) return static_cast<std::uint8_t>(xyzw + 1);
  const std::size_t rgba = std::string_view("rgba").find(word[1]);
  return rgba == std::string_view::npos ? 0 : static_cast<std::uint8_t>(rgba + 1);
}

}  // namespace

std::nullopt_t OperandParser::unknown(std::uint32_t token) {
  const std::string text(cursor_.text(cursor_.token(token)));
  cursor_.fail(diag::Diagnostic(diag::Kind::UnknownName, {text}), {token, token + 1});
  return std::nullopt;
}

std::nullopt_t OperandParser::unsupported(std::string what, TokenRange range) {
  cursor_.fail(diag::Diagnostic(diag::Kind::UnsupportedSyntax, {std::move(what)}), range);
  return std::nullopt;
}

std::optional<ir::RegisterId> OperandParser::parse_guard() {
  if (!cursor_.at(TokenKind::Identifier)) {
    cursor_.fail_expected("a predicate register");
    return std::nullopt;
  }
  const std::uint32_t token = cursor_.position();
  const Name found = context_.names.find(cursor_.text(cursor_.next()));
  if (found.kind != Name::Kind::Register) return unknown(token);
  return static_cast<ir::RegisterId>(found.index);
}

OperandParser::Result OperandParser::parse(const isa::Spelling& spelling, std::size_t index) {
  return operand(0, accepted(spelling, index));
}

OperandParser::Result OperandParser::operand(int depth, Accept accept) {
  const Result first = primary(depth, accept);
  if (!first || !cursor_.at(TokenKind::Pipe)) return first;
  return pipe(*first, depth);
}

OperandParser::Result OperandParser::primary(int depth, Accept accept) {
  if (depth > kMaxDepth) {
    cursor_.fail(diag::Diagnostic(diag::Kind::NestingTooDeep, {std::to_string(kMaxDepth)}));
    return std::nullopt;
  }
  switch (cursor_.peek().kind) {
    case TokenKind::Identifier:
      return name(accept);
    case TokenKind::BracketOpen:
      return address(depth);
    case TokenKind::BraceOpen:
      return list(OperandKind::Vector, TokenKind::BraceClose, depth, Accept::Nothing);
    case TokenKind::Underscore:
      cursor_.next();
      return Operand::sink();
    case TokenKind::Exclamation:
      return negated();
    case TokenKind::Float32: {
      const auto bits = static_cast<std::uint32_t>(hexadecimal_bits(cursor_.text(cursor_.next())));
      return Operand{OperandKind::Float32, 0, 0, 0, static_cast<std::int32_t>(bits)};
    }
    case TokenKind::Float64: {
      const std::uint64_t bits = hexadecimal_bits(cursor_.text(cursor_.next()));
      return Operand{OperandKind::Float64, 0, 0, 0, static_cast<std::int64_t>(bits)};
    }
    case TokenKind::ParenOpen:
      if (isa::has(accept, Accept::Parenthesized)) {
        return list(OperandKind::Parenthesized, TokenKind::ParenClose, depth, Accept::Nothing);
      }
      return constant();
    case TokenKind::Minus:
      if (cursor_.peek(1).kind == TokenKind::Identifier &&
          cursor_.text(cursor_.peek(1)) != "WARP_SZ") {
        return unsupported("a negated register", {cursor_.position(), cursor_.position() + 2});
      }
      return constant();
    default:
      break;
  }
  if (at_constant(cursor_)) return constant();
  cursor_.fail_expected("an operand");
  return std::nullopt;
}

OperandParser::Result OperandParser::constant() {
  const auto value = parse_constant(cursor_);
  if (!value) return std::nullopt;
  if (value->is_float()) return Operand{OperandKind::Float64, 0, 0, 0, value->integer()};
  return Operand::integer(value->integer());
}

// !p, or a constant such as !0
OperandParser::Result OperandParser::negated() {
  const Token& operand_token = cursor_.peek(1);
  if (operand_token.kind != TokenKind::Identifier || cursor_.text(operand_token) == "WARP_SZ") {
    return constant();
  }
  cursor_.next();
  const std::uint32_t token = cursor_.position();
  const Name found = context_.names.find(cursor_.text(cursor_.next()));
  if (found.kind != Name::Kind::Register) return unknown(token);
  return Operand::not_reg(static_cast<ir::RegisterId>(found.index));
}

OperandParser::Result OperandParser::name(Accept accept) {
  const std::uint32_t token = cursor_.position();
  const std::string_view text = cursor_.text();
  const Name found = context_.names.find(text);
  if (found.kind != Name::Kind::None) {
    cursor_.next();
    return resolved(found, text, accept);
  }
  if (text == "WARP_SZ") return constant();
  cursor_.next();
  const auto special = isa::find_special_register(text);
  if (!special) return unknown(token);
  Operand operand = Operand::special(*special, 0);
  if (!component(operand)) return std::nullopt;
  return operand;
}

OperandParser::Result OperandParser::resolved(const Name& found, std::string_view text,
                                              Accept accept) {
  switch (found.kind) {
    case Name::Kind::Register: {
      Operand operand = Operand::reg(static_cast<ir::RegisterId>(found.index));
      if (!component(operand)) return std::nullopt;
      return operand;
    }
    case Name::Kind::Label:
      return Operand::label(static_cast<ir::LabelId>(found.index));
    default:
      return symbol(text, variable_of(found), accept);
  }
}

const ir::Variable* OperandParser::variable_of(const Name& found) const {
  switch (found.kind) {
    case Name::Kind::Variable:
      return &function_.variables[found.index];
    case Name::Kind::ModuleVariable:
      return &context_.module.variables[found.index];
    case Name::Kind::Parameter: {
      const std::size_t parameters = function_.parameters.size();
      return found.index < parameters ? &function_.parameters[found.index]
                                      : &function_.returns[found.index - parameters];
    }
    default:
      return nullptr;
  }
}

// sym, sym+offset, sym[index]: an index counts elements, an offset counts bytes.
OperandParser::Result OperandParser::symbol(std::string_view text, const ir::Variable* variable,
                                            Accept accept) {
  const std::uint32_t first = cursor_.position() - 1;
  Operand operand = Operand::symbol(context_.intern(text));
  if (cursor_.accept(TokenKind::Plus)) {
    const auto offset = parse_integer_constant(cursor_);
    if (!offset) return std::nullopt;
    operand.value = *offset;
    return operand;
  }
  if (!cursor_.at(TokenKind::BracketOpen)) return operand;
  if (variable == nullptr || variable->dimensions.size() > 1) {
    return unsupported("an index into this symbol", cursor_.since(first));
  }
  cursor_.next();
  const auto index = parse_integer_constant(cursor_);
  if (!index || !cursor_.expect(TokenKind::BracketClose)) return std::nullopt;
  const std::uint64_t element =
      isa::info(variable->type).bits / 8U * std::max<std::uint64_t>(variable->vector, 1);
  operand.value = static_cast<std::int64_t>(static_cast<std::uint64_t>(*index) * element);
  // Where the instruction wants an address, sym[i] is one without the brackets around it.
  if (!isa::has(accept, Accept::Address) || isa::has(accept, Accept::Symbol)) return operand;
  const std::int64_t offset = std::exchange(operand.value, 0);
  return function_.composite(OperandKind::Address, {&operand, 1}, offset);
}

bool OperandParser::component(Operand& operand) {
  if (!cursor_.at(TokenKind::DotWord)) return true;
  operand.component = component_number(cursor_.text());
  if (operand.component == 0) {
    unsupported("the selector '" + std::string(cursor_.text()) + "'",
                {cursor_.position(), cursor_.position() + 1});
    return false;
  }
  cursor_.next();
  return true;
}

OperandParser::Result OperandParser::pipe(Operand first, int depth) {
  std::vector<Operand> children{first};
  while (cursor_.accept(TokenKind::Pipe)) {
    const Result next = primary(depth + 1, Accept::Nothing);
    if (!next) return std::nullopt;
    children.push_back(*next);
  }
  if (children.size() > kMaxChildren) {
    cursor_.fail(diag::Diagnostic(diag::Kind::TooManyOperands, {std::to_string(kMaxChildren)}));
    return std::nullopt;
  }
  return function_.composite(OperandKind::Pipe, children);
}

// {a, b} and (a, b); both may be empty as far as the grammar goes.
OperandParser::Result OperandParser::list(OperandKind kind, TokenKind close, int depth,
                                          Accept accept) {
  cursor_.next();
  std::vector<Operand> children;
  if (!cursor_.at(close)) {
    do {
      const Result child = operand(depth + 1, accept);
      if (!child) return std::nullopt;
      if (children.size() == kMaxChildren) {
        cursor_.fail(diag::Diagnostic(diag::Kind::TooManyOperands, {std::to_string(kMaxChildren)}));
        return std::nullopt;
      }
      children.push_back(*child);
    } while (cursor_.accept(TokenKind::Comma));
  }
  if (!cursor_.expect(close)) return std::nullopt;
  return function_.composite(kind, children);
}

// The base of an address is a register, a symbol or a constant; its offset stays with the address.
OperandParser::Result OperandParser::address_base() {
  if (!cursor_.at(TokenKind::Identifier)) {
    if (at_constant(cursor_)) return constant();
    cursor_.fail_expected("the base of an address");
    return std::nullopt;
  }
  return name(Accept::Symbol);
}

// [base], [base+offset], [base, operand...]
OperandParser::Result OperandParser::address(int depth) {
  const std::uint32_t first = cursor_.position();
  cursor_.next();
  const Result base = address_base();
  if (!base) return std::nullopt;
  std::vector<Operand> children{*base};
  // A symbol has taken its own offset already.
  std::int64_t offset = 0;
  if (base->kind == OperandKind::Symbol) offset = std::exchange(children[0].value, 0);
  if (cursor_.accept(TokenKind::Plus)) {
    const auto bytes = parse_integer_constant(cursor_);
    if (!bytes) return std::nullopt;
    offset = static_cast<std::int64_t>(static_cast<std::uint64_t>(offset) +
                                       static_cast<std::uint64_t>(*bytes));
  }
  while (cursor_.accept(TokenKind::Comma)) {
    const Result next = operand(depth + 1, Accept::Nothing);
    if (!next) return std::nullopt;
    if (children.size() == kMaxChildren) {
      cursor_.fail(diag::Diagnostic(diag::Kind::TooManyOperands, {std::to_string(kMaxChildren)}));
      return std::nullopt;
    }
    children.push_back(*next);
  }
  if (!cursor_.expect(TokenKind::BracketClose)) return std::nullopt;
  if (cursor_.at(TokenKind::DotWord)) {
    return unsupported("the address suffix '" + std::string(cursor_.text()) + "'",
                       cursor_.since(first));
  }
  return function_.composite(OperandKind::Address, children, offset);
}

}  // namespace pyptx::syntax
