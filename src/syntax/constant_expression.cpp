// SPDX-License-Identifier: Apache-2.0
#include "constant_expression.h"

#include <bit>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "number.h"

namespace pyptx::syntax {
namespace {

using ConstantKind = Constant::Kind;

constexpr int kMaxExpressionDepth = 200;
constexpr std::int64_t kWarpSize = 32;

Constant truth(bool value) { return {ConstantKind::Signed, value ? 1U : 0U}; }

int precedence(TokenKind kind) {
  switch (kind) {
    case TokenKind::Star:
    case TokenKind::Slash:
    case TokenKind::Percent:
      return 10;
    case TokenKind::Plus:
    case TokenKind::Minus:
      return 9;
    case TokenKind::ShiftLeft:
    case TokenKind::ShiftRight:
      return 8;
    case TokenKind::Less:
    case TokenKind::Greater:
    case TokenKind::LessEqual:
    case TokenKind::GreaterEqual:
      return 7;
    case TokenKind::EqualEqual:
    case TokenKind::NotEqual:
      return 6;
    case TokenKind::Ampersand:
      return 5;
    case TokenKind::Caret:
      return 4;
    case TokenKind::Pipe:
      return 3;
    case TokenKind::AndAnd:
      return 2;
    case TokenKind::OrOr:
      return 1;
    default:
      return 0;
  }
}

template <typename T>
std::optional<Constant> compare(TokenKind op, T a, T b) {
  switch (op) {
    case TokenKind::Less:
      return truth(a < b);
    case TokenKind::Greater:
      return truth(a > b);
    case TokenKind::LessEqual:
      return truth(a <= b);
    case TokenKind::GreaterEqual:
      return truth(a >= b);
    case TokenKind::EqualEqual:
      return truth(a == b);
    case TokenKind::NotEqual:
      return truth(a != b);
    default:
      return std::nullopt;
  }
}

std::optional<Constant> apply_float(TokenKind op, double a, double b) {
  const auto value = [](double result) {
    return Constant{ConstantKind::Float, std::bit_cast<std::uint64_t>(result)};
  };
  switch (op) {
    case TokenKind::Plus:
      return value(a + b);
    case TokenKind::Minus:
      return value(a - b);
    case TokenKind::Star:
      return value(a * b);
    case TokenKind::Slash:
      return value(a / b);
    default:
      return compare(op, a, b);
  }
}

// A shift by 64 or more moves every bit out; .s64 shifts right arithmetically.
Constant shift(TokenKind op, Constant a, std::uint64_t count) {
  const bool negative = a.kind == ConstantKind::Signed && a.integer() < 0;
  if (op == TokenKind::ShiftLeft) return {a.kind, count > 63 ? 0 : a.bits << count};
  if (count > 63) return {a.kind, negative ? ~std::uint64_t{0} : 0};
  const std::uint64_t fill = negative && count != 0 ? ~std::uint64_t{0} << (64 - count) : 0;
  return {a.kind, (a.bits >> count) | fill};
}

// Signed division by unsigned means, which wraps where C++ would not define it.
std::uint64_t divide(Constant a, Constant b, bool is_signed) {
  if (!is_signed) return a.bits / b.bits;
  const auto magnitude = [](std::uint64_t v, bool negative) { return negative ? 0 - v : v; };
  const bool a_negative = a.integer() < 0;
  const bool b_negative = b.integer() < 0;
  const std::uint64_t quotient = magnitude(a.bits, a_negative) / magnitude(b.bits, b_negative);
  return magnitude(quotient, a_negative != b_negative);
}

/// The operands are integers and a division has a divisor.
std::optional<Constant> apply_integer(TokenKind op, Constant a, Constant b) {
  const bool is_signed = a.kind == ConstantKind::Signed && b.kind == ConstantKind::Signed;
  const ConstantKind kind = is_signed ? ConstantKind::Signed : ConstantKind::Unsigned;
  switch (op) {
    case TokenKind::Plus:
      return Constant{kind, a.bits + b.bits};
    case TokenKind::Minus:
      return Constant{kind, a.bits - b.bits};
    case TokenKind::Star:
      return Constant{kind, a.bits * b.bits};
    case TokenKind::Slash:
      return Constant{kind, divide(a, b, is_signed)};
    case TokenKind::Percent:
      return Constant{ConstantKind::Signed, a.bits % b.bits};
    case TokenKind::ShiftLeft:
    case TokenKind::ShiftRight:
      return shift(op, a, b.bits);
    case TokenKind::Ampersand:
      return Constant{ConstantKind::Unsigned, a.bits & b.bits};
    case TokenKind::Caret:
      return Constant{ConstantKind::Unsigned, a.bits ^ b.bits};
    case TokenKind::Pipe:
      return Constant{ConstantKind::Unsigned, a.bits | b.bits};
    case TokenKind::AndAnd:
      return truth(a.bits != 0 && b.bits != 0);
    case TokenKind::OrOr:
      return truth(a.bits != 0 || b.bits != 0);
    default:
      return is_signed ? compare(op, a.integer(), b.integer()) : compare(op, a.bits, b.bits);
  }
}

class ExpressionParser {
 public:
  explicit ExpressionParser(Cursor& cursor) : cursor_(cursor), first_(cursor.position()) {}

  std::optional<Constant> ternary() {
    const Depth depth(depth_);
    if (depth_ > kMaxExpressionDepth) return too_deep();
    const auto condition = binary(1);
    if (!condition || !cursor_.accept(TokenKind::Question)) return condition;
    const auto yes = ternary();
    if (!yes || !cursor_.expect(TokenKind::Colon)) return std::nullopt;
    const auto no = ternary();
    if (!no) return std::nullopt;
    if (condition->is_float()) return problem("the condition of ?: is an integer");
    if (yes->is_float() != no->is_float()) return mismatch();
    Constant chosen = condition->bits != 0 ? *yes : *no;
    if (yes->kind == ConstantKind::Unsigned || no->kind == ConstantKind::Unsigned)
      chosen.kind = ConstantKind::Unsigned;
    return chosen;
  }

 private:
  struct Depth {
    explicit Depth(int& level) : level_(level) { ++level_; }
    ~Depth() { --level_; }
    Depth(const Depth&) = delete;
    Depth& operator=(const Depth&) = delete;
    int& level_;
  };

  std::nullopt_t problem(std::string text) {
    cursor_.fail(diag::Diagnostic(diag::Kind::ConstantExpression, {std::move(text)}),
                 cursor_.since(first_));
    return std::nullopt;
  }
  std::nullopt_t mismatch() { return problem("integers and floating-point values do not mix"); }
  std::nullopt_t too_deep() {
    cursor_.fail(
        diag::Diagnostic(diag::Kind::NestingTooDeep, {std::to_string(kMaxExpressionDepth)}));
    return std::nullopt;
  }

  std::optional<Constant> binary(int lowest) {
    auto left = unary();
    while (left) {
      const TokenKind op = cursor_.peek().kind;
      const int level = precedence(op);
      if (level == 0 || level < lowest) break;
      cursor_.next();
      const auto right = binary(level + 1);
      left = right ? combine(op, *left, *right) : std::nullopt;
    }
    return left;
  }

  std::optional<Constant> combine(TokenKind op, Constant a, Constant b) {
    if (a.is_float() != b.is_float()) return mismatch();
    if (a.is_float()) {
      const auto result =
          apply_float(op, std::bit_cast<double>(a.bits), std::bit_cast<double>(b.bits));
      if (!result) return problem("this operator takes integers only");
      return result;
    }
    if ((op == TokenKind::Slash || op == TokenKind::Percent) && b.bits == 0) {
      return problem("division by zero");
    }
    return apply_integer(op, a, b);
  }

  std::optional<Constant> unary() {
    const Depth depth(depth_);
    if (depth_ > kMaxExpressionDepth) return too_deep();
    const TokenKind op = cursor_.peek().kind;
    if (op != TokenKind::Plus && op != TokenKind::Minus && op != TokenKind::Exclamation &&
        op != TokenKind::Tilde) {
      return primary();
    }
    cursor_.next();
    const auto value = unary();
    if (!value) return std::nullopt;
    if (op == TokenKind::Plus) return value;
    if (op == TokenKind::Minus) {
      if (!value->is_float()) return Constant{value->kind, 0 - value->bits};
      return Constant{ConstantKind::Float, value->bits ^ (std::uint64_t{1} << 63)};
    }
    if (value->is_float()) return problem("this operator takes integers only");
    if (op == TokenKind::Exclamation) return truth(value->bits == 0);
    return Constant{ConstantKind::Unsigned, ~value->bits};
  }

  std::optional<Constant> primary() {
    switch (cursor_.peek().kind) {
      case TokenKind::Integer: {
        // A literal that the lexer refused counts as 0 here: it has been reported.
        const auto value = integer_value(cursor_.text(cursor_.next())).value_or(IntegerValue{});
        return Constant{value.is_unsigned ? ConstantKind::Unsigned : ConstantKind::Signed,
                        value.bits};
      }
      case TokenKind::Decimal: {
        const double value = decimal_value(cursor_.text(cursor_.next()));
        return Constant{ConstantKind::Float, std::bit_cast<std::uint64_t>(value)};
      }
      case TokenKind::ParenOpen:
        return parenthesized();
      case TokenKind::Identifier:
        if (!cursor_.at_name("WARP_SZ")) break;
        cursor_.next();
        return Constant{ConstantKind::Signed, kWarpSize};
      default:
        break;
    }
    cursor_.fail_expected("a constant");
    return std::nullopt;
  }

  // (expression), or a cast: (.u64)x
  std::optional<Constant> parenthesized() {
    cursor_.next();
    if (cursor_.at(TokenKind::DotWord)) {
      const bool to_signed = cursor_.at_word(".s64");
      if (!to_signed && !cursor_.at_word(".u64")) {
        cursor_.fail_expected("'.s64' or '.u64'");
        return std::nullopt;
      }
      cursor_.next();
      if (!cursor_.expect(TokenKind::ParenClose)) return std::nullopt;
      const auto value = unary();
      if (!value) return std::nullopt;
      if (value->is_float()) return mismatch();
      return Constant{to_signed ? ConstantKind::Signed : ConstantKind::Unsigned, value->bits};
    }
    const auto value = ternary();
    if (!value || !cursor_.expect(TokenKind::ParenClose)) return std::nullopt;
    return value;
  }

  Cursor& cursor_;
  std::uint32_t first_;
  int depth_ = 0;
};

}  // namespace

bool at_constant(const Cursor& cursor) {
  switch (cursor.peek().kind) {
    case TokenKind::Integer:
    case TokenKind::Decimal:
    case TokenKind::ParenOpen:
    case TokenKind::Plus:
    case TokenKind::Minus:
    case TokenKind::Tilde:
    case TokenKind::Exclamation:
      return true;
    case TokenKind::Identifier:
      return cursor.at_name("WARP_SZ");
    default:
      return false;
  }
}

std::optional<Constant> parse_constant(Cursor& cursor) {
  // Most constants are a literal alone.
  if (cursor.at(TokenKind::Integer)) {
    const TokenKind after = cursor.peek(1).kind;
    if (precedence(after) == 0 && after != TokenKind::Question) {
      const auto value = integer_value(cursor.text(cursor.next())).value_or(IntegerValue{});
      return Constant{value.is_unsigned ? ConstantKind::Unsigned : ConstantKind::Signed,
                      value.bits};
    }
  }
  return ExpressionParser(cursor).ternary();
}

std::optional<std::int64_t> parse_integer_constant(Cursor& cursor) {
  const std::uint32_t first = cursor.position();
  const auto value = parse_constant(cursor);
  if (!value) return std::nullopt;
  if (!value->is_float()) return value->integer();
  cursor.fail(diag::Diagnostic(diag::Kind::ConstantExpression, {"an integer is needed here"}),
              cursor.since(first));
  return std::nullopt;
}

std::optional<std::uint64_t> parse_integer_literal(Cursor& cursor) {
  if (!cursor.at(TokenKind::Integer)) {
    cursor.fail_expected("an integer");
    return std::nullopt;
  }
  return integer_value(cursor.text(cursor.next())).value_or(IntegerValue{}).bits;
}

}  // namespace pyptx::syntax
