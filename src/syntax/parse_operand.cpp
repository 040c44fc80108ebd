// SPDX-License-Identifier: Apache-2.0
#include "parse_operand.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include "constant_expression.h"
#include "number.h"
#include "pyptx/ir/video_selector.h"
#include "pyptx/isa/type.h"

namespace pyptx::syntax {
namespace {

using ir::Operand;
using ir::OperandKind;
using isa::Accept;

constexpr int kMaxOperandDepth = 32;
constexpr std::size_t kMaxOperands = std::numeric_limits<std::uint16_t>::max();

/// 1..4 for .x .y .z .w and .r .g .b .a, 0 for anything else.
std::uint8_t component_number(std::string_view word) {
  if (word.size() != 2) return 0;
  const std::size_t xyzw = std::string_view("xyzw").find(word[1]);
  if (xyzw != std::string_view::npos) return static_cast<std::uint8_t>(xyzw + 1);
  const std::size_t rgba = std::string_view("rgba").find(word[1]);
  return rgba == std::string_view::npos ? 0 : static_cast<std::uint8_t>(rgba + 1);
}

bool is_warp_size(std::string_view text) { return text == "WARP_SZ"; }

/// Its value is an offset then.
bool is_plain_undeclared(const Operand& operand) {
  return operand.kind == OperandKind::Undeclared && (operand.component & ir::kSelectorBits) == 0;
}

}  // namespace

// A name that nothing declares may be anything: it is taken with all that can follow a register or
// a variable.
bool OperandParser::undeclared(std::uint32_t token, bool in_address, std::uint8_t marks) {
  const std::string_view text = cursor_.text(cursor_.token(token));
  note({diag::Diagnostic(diag::Kind::UnknownName, {std::string(text)}), {token, token + 1}});
  Operand operand{OperandKind::Undeclared, 0, 0, context_.intern_index(text), 0};
  if (!component(operand)) return false;
  const bool is_selected = operand.component != 0;
  operand.component |= marks;
  if (!is_selected && cursor_.accept(TokenKind::Plus)) {
    const auto offset = parse_integer_constant(cursor_);
    if (!offset) return false;
    operand.value = *offset;
    if (*offset == 0) operand.component |= ir::kZeroOffset;
  } else if (!is_selected && !in_address && cursor_.accept(TokenKind::BracketOpen)) {
    const auto index = parse_integer_constant(cursor_);
    if (!index || !cursor_.expect(TokenKind::BracketClose)) return false;
    operand.value = *index;
    operand.component |= ir::kIndexedName;
  }
  return push(operand);
}

bool OperandParser::unsupported(std::string what, TokenRange range) {
  return cursor_.fail(diag::Diagnostic(diag::Kind::UnsupportedSyntax, {std::move(what)}), range);
}

// Whether some form of the instruction admits this kind at the place that is being read; optional
// operands before it may have been left out.
bool OperandParser::admits(Accept kind) const {
  if (spelling_ == nullptr) return kind == Accept::Parenthesized && begins_list();
  const std::size_t index = stack_.size();
  return std::ranges::any_of(spelling_->candidates, [&](const isa::Candidate& candidate) {
    std::size_t optional = 0;
    for (std::size_t i = 0; i < candidate.operands.size(); ++i) {
      const isa::OperandSpec& spec = candidate.operands[i];
      if (i >= index && i - index <= optional && isa::has(spec.accept, kind)) return true;
      if (spec.optional) ++optional;
    }
    return false;
  });
}

// Of an instruction that nobody knows: a constant begins with a number, a list with anything else.
bool OperandParser::begins_list() const {
  std::uint32_t ahead = 0;
  while (cursor_.peek(ahead).kind == TokenKind::ParenOpen) ++ahead;
  const Token& inner = cursor_.peek(ahead);
  switch (inner.kind) {
    case TokenKind::Identifier:
      return !is_warp_size(cursor_.text(inner));
    case TokenKind::Underscore:
    case TokenKind::BracketOpen:
    case TokenKind::BraceOpen:
    case TokenKind::ParenClose:
      return true;
    default:
      return false;
  }
}

bool OperandParser::parse_guard(Operand& guard) {
  const bool is_negated = cursor_.accept(TokenKind::Exclamation);
  if (!cursor_.at(TokenKind::Identifier)) return cursor_.fail_expected("a predicate register");
  const std::uint32_t token = cursor_.position();
  const std::string_view text = cursor_.text(cursor_.next());
  const Name found = context_.names.find(text);
  if (found.kind == Name::Kind::Register) {
    const auto id = static_cast<ir::RegisterId>(found.index);
    guard = is_negated ? Operand::not_reg(id) : Operand::reg(id);
    return true;
  }
  note({diag::Diagnostic(diag::Kind::UnknownName, {std::string(text)}), {token, token + 1}});
  guard = {OperandKind::Undeclared, is_negated ? ir::kNotName : std::uint8_t{0}, 0,
           context_.intern_index(text), 0};
  return true;
}

bool OperandParser::parse_list(const isa::Spelling* spelling, ir::Instruction& instruction) {
  spelling_ = spelling;
  stack_.clear();
  if (!cursor_.at(TokenKind::Semicolon)) {
    do {
      if (!operand(0)) return false;
    } while (cursor_.accept(TokenKind::Comma));
  }
  if (!cursor_.accept(TokenKind::Semicolon)) return cursor_.fail_expected("',' or ';'");
  if (stack_.size() > kMaxOperands) {
    return cursor_.fail(
        diag::Diagnostic(diag::Kind::TooManyOperands, {std::to_string(kMaxOperands)}));
  }
  instruction.first_operand = static_cast<std::uint32_t>(function_.operands.size());
  instruction.operand_count = static_cast<std::uint16_t>(stack_.size());
  function_.operands.append(stack_);
  return true;
}

bool OperandParser::operand(int depth) {
  if (!primary(depth)) return false;
  return !cursor_.at(TokenKind::Pipe) || pipe(depth);
}

bool OperandParser::primary(int depth) {
  if (depth > kMaxOperandDepth) {
    return cursor_.fail(
        diag::Diagnostic(diag::Kind::NestingTooDeep, {std::to_string(kMaxOperandDepth)}));
  }
  const auto before_name = [&] {
    return cursor_.peek(1).kind == TokenKind::Identifier &&
           !is_warp_size(cursor_.text(cursor_.peek(1)));
  };
  switch (cursor_.kind()) {
    case TokenKind::Identifier:
      return name(depth > 0);
    case TokenKind::BracketOpen:
      return address(depth);
    case TokenKind::BraceOpen:
      return list(OperandKind::Vector, TokenKind::BraceClose, depth);
    case TokenKind::Underscore:
      cursor_.next();
      return push(Operand::sink());
    case TokenKind::Exclamation:
      return before_name() ? signed_name(&Operand::not_reg, ir::kNotName) : constant();
    case TokenKind::Minus:
      return before_name() ? signed_name(&Operand::negated_reg, ir::kMinusName) : constant();
    case TokenKind::Float32: {
      const auto bits = static_cast<std::uint32_t>(hexadecimal_bits(cursor_.text(cursor_.next())));
      return push({OperandKind::Float32, 0, 0, 0, static_cast<std::int32_t>(bits)});
    }
    case TokenKind::Float64: {
      const std::uint64_t bits = hexadecimal_bits(cursor_.text(cursor_.next()));
      return push({OperandKind::Float64, 0, 0, 0, static_cast<std::int64_t>(bits)});
    }
    case TokenKind::ParenOpen:
      if (depth == 0 && admits(Accept::Parenthesized)) {
        return list(OperandKind::Parenthesized, TokenKind::ParenClose, depth);
      }
      return constant();
    default:
      break;
  }
  return at_constant(cursor_) ? constant() : cursor_.fail_expected("an operand");
}

bool OperandParser::constant() {
  const auto value = parse_constant(cursor_);
  if (!value) return false;
  if (value->is_float()) return push({OperandKind::Float64, 0, 0, 0, value->integer()});
  return push(Operand::integer(value->integer()));
}

// !p and -r, the latter with a selector
bool OperandParser::signed_name(Operand (*make)(ir::RegisterId), std::uint8_t mark) {
  cursor_.next();
  const std::uint32_t token = cursor_.position();
  const Name found = context_.names.find(cursor_.text(cursor_.next()));
  if (found.kind != Name::Kind::Register) return undeclared(token, true, mark);
  Operand operand = make(static_cast<ir::RegisterId>(found.index));
  return component(operand) && push(operand);
}

bool OperandParser::name(bool in_address) {
  const std::uint32_t token = cursor_.position();
  const std::string_view text = cursor_.text();
  const Name found = context_.names.find(text);
  if (found.kind != Name::Kind::None) {
    cursor_.next();
    return resolved(found, text, in_address);
  }
  if (is_warp_size(text)) return constant();
  cursor_.next();
  const auto special = isa::find_special_register(text);
  if (!special) return undeclared(token, in_address, 0);
  Operand operand = Operand::special(*special, 0);
  return component(operand) && push(operand);
}

bool OperandParser::resolved(const Name& found, std::string_view text, bool in_address) {
  switch (found.kind) {
    case Name::Kind::Register: {
      Operand operand = Operand::reg(static_cast<ir::RegisterId>(found.index));
      return component(operand) && push(operand);
    }
    case Name::Kind::Label:
      return push(Operand::label(static_cast<ir::LabelId>(found.index)));
    default:
      return symbol(found, text, in_address);
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
bool OperandParser::symbol(const Name& found, std::string_view text, bool in_address) {
  const ir::Variable* const variable = variable_of(found);
  Operand operand = Operand::symbol(context_.intern(text));
  operand.component =
      variable == nullptr
          ? ir::kFunctionComponent
          : static_cast<std::uint8_t>(ir::kSpaceComponent + static_cast<int>(variable->space));
  if (cursor_.accept(TokenKind::Plus)) {
    const auto offset = parse_integer_constant(cursor_);
    if (!offset) return false;
    operand.value = *offset;
    if (*offset == 0) operand.component |= ir::kZeroOffset;
    return push(operand);
  }
  if (in_address || !cursor_.at(TokenKind::BracketOpen)) return push(operand);
  // Where the instruction wants an address, sym[i] is one without the brackets around it.
  const bool is_address = admits(Accept::Address) && !admits(Accept::Symbol);
  if (!index_of(operand, variable)) return false;
  if (!is_address) return push(operand);
  const std::int64_t offset = std::exchange(operand.value, 0);
  const std::uint8_t marks = operand.component & ir::kZeroOffset;
  operand.component ^= marks;
  const std::size_t base = stack_.size();
  stack_.push_back(operand);
  return finish(base, OperandKind::Address, offset, marks);
}

bool OperandParser::index_of(Operand& operand, const ir::Variable* variable) {
  const std::uint32_t first = cursor_.position() - 1;
  if (variable == nullptr || variable->dimensions.size() > 1) {
    return unsupported("an index into this symbol", cursor_.since(first));
  }
  cursor_.next();
  const auto index = parse_integer_constant(cursor_);
  if (!index || !cursor_.expect(TokenKind::BracketClose)) return false;
  const std::uint64_t element =
      isa::info(variable->type).bits / 8U * std::max<std::uint64_t>(variable->vector, 1);
  operand.value = static_cast<std::int64_t>(static_cast<std::uint64_t>(*index) * element);
  if (operand.value == 0) operand.component |= ir::kZeroOffset;
  return true;
}

bool OperandParser::component(Operand& operand) {
  if (!cursor_.at(TokenKind::DotWord)) return true;
  const std::string_view word = cursor_.text();
  operand.component = component_number(word);
  if (operand.component == 0 && operand.kind != OperandKind::Special) {
    operand.value = ir::video_selector(word.substr(1));
    if (operand.value != 0) operand.component = ir::kVideoSelector;
  }
  if (operand.component == 0) {
    return unsupported("the selector '" + std::string(word) + "'",
                       {cursor_.position(), cursor_.position() + 1});
  }
  cursor_.next();
  return true;
}

// Moves the operands above `base` into the pool and puts their composite in their place.
bool OperandParser::finish(std::size_t base, OperandKind kind, std::int64_t value,
                           std::uint8_t component) {
  const std::size_t count = stack_.size() - base;
  if (count > kMaxOperands) {
    return cursor_.fail(
        diag::Diagnostic(diag::Kind::TooManyOperands, {std::to_string(kMaxOperands)}));
  }
  Operand composite = function_.composite(kind, {stack_.data() + base, count}, value);
  composite.component = component;
  stack_.resize(base);
  return push(composite);
}

bool OperandParser::pipe(int depth) {
  const std::size_t base = stack_.size() - 1;
  while (cursor_.accept(TokenKind::Pipe)) {
    if (!primary(depth + 1)) return false;
  }
  return finish(base, OperandKind::Pipe);
}

// {a, b} and (a, b); both may be empty as far as the grammar goes.
bool OperandParser::list(OperandKind kind, TokenKind close, int depth) {
  const std::size_t base = stack_.size();
  cursor_.next();
  if (!cursor_.at(close)) {
    do {
      if (!operand(depth + 1)) return false;
    } while (cursor_.accept(TokenKind::Comma));
  }
  return cursor_.expect(close) && finish(base, kind);
}

// [base], [base+offset], [base, operand...], [base].unified; the base of an address is a register,
// a symbol or a constant, and its offset stays with the address.
bool OperandParser::address(int depth) {
  const std::size_t base = stack_.size();
  cursor_.next();
  if (cursor_.at(TokenKind::Identifier)) {
    if (!name(true)) return false;
  } else if (!at_constant(cursor_)) {
    return cursor_.fail_expected("the base of an address");
  } else if (!constant()) {
    return false;
  }
  std::int64_t offset = 0;
  std::uint8_t marks = 0;
  if (Operand& first = stack_[base];
      first.kind == OperandKind::Symbol || is_plain_undeclared(first)) {
    offset = std::exchange(first.value, 0);
    marks = first.component & ir::kZeroOffset;
    first.component ^= marks;
  } else if (cursor_.accept(TokenKind::Plus)) {
    const auto bytes = parse_integer_constant(cursor_);
    if (!bytes) return false;
    offset = *bytes;
    if (offset == 0) marks = ir::kZeroOffset;
  }
  while (cursor_.accept(TokenKind::Comma)) {
    if (!operand(depth + 1)) return false;
  }
  if (!cursor_.expect(TokenKind::BracketClose)) return false;
  if (cursor_.at(TokenKind::DotWord)) {
    if (!cursor_.accept_word(".unified")) return cursor_.fail_expected("'.unified'");
    marks |= ir::kUnified;
  }
  return finish(base, OperandKind::Address, offset, marks);
}

}  // namespace pyptx::syntax
