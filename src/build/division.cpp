// SPDX-License-Identifier: Apache-2.0
//
// Quotients and remainders without a division where the divisor is known. See division.h.
#include "pyptx/build/division.h"

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>

#include "arguments.h"
#include "pyptx/support/concat.h"
#include "sides.h"
#include "types.h"

namespace pyptx::build {

Reciprocal reciprocal(std::uint64_t divisor, std::uint32_t width, std::uint32_t dividend) {
  // 2^(width + shift) divided by the divisor, by hand: neither it nor the quotient need fit.
  std::uint64_t quotient = 0;
  std::uint64_t rest = 1;
  bool has_carry = false;  // of the quotient, above `width` bits
  const auto step = [&] {
    const bool is_large = rest >> 63 != 0;
    has_carry = (quotient >> (width - 1) & 1) != 0;
    rest <<= 1;
    quotient = quotient << 1 & (~std::uint64_t{0} >> (64 - width));
    if (!is_large && rest < divisor) return;
    rest -= divisor;
    quotient |= 1;
  };
  for (std::uint32_t i = 0; i < width; ++i) step();
  const std::uint32_t slack = width - dividend;
  std::uint32_t shift = 0;
  // The multiplier, rounded up, is too large by a part of 2^(width + shift) that no dividend sees.
  const auto is_exact = [&] {
    return shift + slack >= 64 || divisor - rest <= std::uint64_t{1} << (shift + slack);
  };
  for (; !is_exact(); ++shift) step();
  if (!has_carry) return {quotient + 1, 0, shift, false};
  const auto even = static_cast<std::uint32_t>(std::countr_zero(divisor));
  if (even == 0) return {quotient + 1, 0, shift, true};
  Reciprocal odd = reciprocal(divisor >> even, width, dividend - even);
  odd.before = even;
  return odd;
}

namespace {

using support::concat;

/// Instructions on one type, each into a fresh register.
class Words {
 public:
  Words(Tracer& tracer, isa::Type type) : tracer_(tracer), type_(type) {}

  std::uint32_t width() const { return bits(type_); }
  isa::Type type() const { return type_; }
  bool is_signed() const { return kind(type_) == isa::TypeKind::Signed; }

  Reg emit(std::string_view opcode, isa::Type named, ir::Operand a, ir::Operand b) {
    const Reg result = tracer_.reg(type_);
    tracer_.emit(concat(opcode, ".", isa::info(named).name), {result, a, b});
    return result;
  }
  Reg numbers(std::string_view opcode, ir::Operand a, ir::Operand b) {
    return emit(opcode, type_, a, b);
  }
  Reg unsigned_numbers(std::string_view opcode, ir::Operand a, ir::Operand b) {
    return emit(opcode, unsigned_type(), a, b);
  }
  Reg patterns(std::string_view opcode, ir::Operand a, ir::Operand b) {
    return emit(opcode, bit_type(type_), a, b);
  }
  /// a * b + c, the low half
  Reg multiply_add(ir::Operand a, ir::Operand b, ir::Operand c) {
    const Reg result = tracer_.reg(type_);
    tracer_.emit(concat("mad.lo.", isa::info(type_).name), {result, a, b, c});
    return result;
  }
  Reg copy(ir::Operand a) {
    const Reg result = tracer_.reg(type_);
    tracer_.emit(concat("mov.", isa::info(type_).name), {result, a});
    return result;
  }
  Reg inverted(Reg a) {
    const Reg result = tracer_.reg(type_);
    tracer_.emit(concat("not.", isa::info(bit_type(type_)).name), {result, a});
    return result;
  }
  /// `yes` where a == 0, else `no`
  Reg if_zero(Reg a, ir::Operand yes, ir::Operand no) {
    const Reg is_zero = tracer_.reg(isa::Type::Pred);
    tracer_.emit(concat("setp.eq.", isa::info(type_).name), {is_zero, a, number(0)});
    const Reg result = tracer_.reg(type_);
    tracer_.emit(concat("selp.", isa::info(bit_type(type_)).name), {result, yes, no, is_zero});
    return result;
  }
  /// All ones where a is below 0.
  Reg signs(Reg a) { return emit("shr", type_, a, number(width() - 1)); }

  /// The bits of `value`, as a literal of the type.
  ir::Operand number(std::uint64_t value) const {
    const std::uint32_t unused = 64 - width();
    if (is_signed() || width() == 64) {
      return ir::Operand::integer(static_cast<std::int64_t>(value << unused) >> unused);
    }
    return ir::Operand::integer(static_cast<std::int64_t>(value << unused >> unused));
  }
  isa::Type unsigned_type() const { return arithmetic_type(bit_type(type_)); }

 private:
  Tracer& tracer_;
  isa::Type type_;
};

/// The magnitude of a literal divisor, and what is known of it.
struct Divisor {
  std::uint64_t magnitude = 0;
  bool is_negative = false;

  bool is_power() const { return std::has_single_bit(magnitude); }
  std::uint32_t log() const { return static_cast<std::uint32_t>(std::countr_zero(magnitude)); }
};

/// A quotient of numbers without sign, below 2^dividend.
Reg divide_unsigned(Words& words, Reg x, const Divisor& by, std::uint32_t dividend) {
  if (by.magnitude == 1) return words.copy(x);
  if (by.is_power()) return words.unsigned_numbers("shr", x, words.number(by.log()));
  const Reciprocal factor = reciprocal(by.magnitude, words.width(), dividend);
  const ir::Operand multiplier = ir::Operand::integer(static_cast<std::int64_t>(factor.multiplier));
  const Reg shifted =
      factor.before == 0 ? x : words.unsigned_numbers("shr", x, words.number(factor.before));
  const Reg high = words.unsigned_numbers("mul.hi", shifted, multiplier);
  if (!factor.has_carry) {
    if (factor.shift == 0) return high;
    return words.unsigned_numbers("shr", high, words.number(factor.shift));
  }
  // x + high may pass the width: half the difference is added instead, and one bit less shifted.
  const Reg difference = words.unsigned_numbers("sub", x, high);
  const Reg half = words.unsigned_numbers("shr", difference, words.number(1));
  const Reg sum = words.unsigned_numbers("add", half, high);
  return words.unsigned_numbers("shr", sum, words.number(factor.shift - 1));
}

/// x - quotient * divisor
Reg rest_of(Words& words, Reg x, Reg quotient, const Divisor& by) {
  const std::uint64_t factor = by.is_negative ? by.magnitude : ~by.magnitude + 1;
  return words.multiply_add(quotient, words.number(factor), x);
}

/// Rounded down, of a signed x and a divisor above 0: below 0 it is ~(~x / divisor).
Reg floored(Words& words, Reg x, const Divisor& by) {
  if (by.magnitude == 1) return words.copy(x);
  if (by.is_power()) return words.numbers("shr", x, words.number(by.log()));
  const Reg signs = words.signs(x);
  const Reg folded = words.patterns("xor", x, signs);
  const Reg quotient = divide_unsigned(words, folded, by, words.width() - 1);
  return words.patterns("xor", quotient, signs);
}

Reg floored_rest(Words& words, Reg x, const Divisor& by) {
  if (by.magnitude == 1) return words.copy(words.number(0));
  if (by.is_power()) return words.patterns("and", x, words.number(by.magnitude - 1));
  return rest_of(words, x, floored(words, x, {by.magnitude, false}), {by.magnitude, false});
}

/// Rounded towards zero: the quotient of the magnitudes, with the sign of both.
Reg truncated(Words& words, Reg x, const Divisor& by) {
  if (by.magnitude == 1) {
    return by.is_negative ? words.numbers("sub", words.number(0), x) : words.copy(x);
  }
  const Reg signs = words.signs(x);
  const Reg magnitude = words.numbers("sub", words.patterns("xor", x, signs), signs);
  const Reg quotient = divide_unsigned(words, magnitude, by, words.width());
  const Reg flipped = words.patterns("xor", quotient, signs);
  return by.is_negative ? words.numbers("sub", signs, flipped)
                        : words.numbers("sub", flipped, signs);
}

Reg divide_by_literal(Words& words, Quotient how, Reg x, const Divisor& by) {
  if (!words.is_signed()) return divide_unsigned(words, x, by, words.width());
  if (how == Quotient::TowardsZero) return truncated(words, x, by);
  if (!by.is_negative) return floored(words, x, by);
  // Down by -d is -(up by d), and up is one more than down where something is left.
  const Divisor positive{by.magnitude, false};
  const Reg quotient = floored(words, x, positive);
  const Reg rest =
      by.is_power() ? floored_rest(words, x, positive) : rest_of(words, x, quotient, positive);
  const Reg below = words.inverted(quotient);
  return words.numbers("add", below, words.if_zero(rest, words.number(1), words.number(0)));
}

Reg rest_by_literal(Words& words, Quotient how, Reg x, const Divisor& by) {
  if (!words.is_signed()) {
    if (by.magnitude == 1) return words.copy(words.number(0));
    if (by.is_power()) return words.patterns("and", x, words.number(by.magnitude - 1));
    return rest_of(words, x, divide_unsigned(words, x, by, words.width()), by);
  }
  if (how == Quotient::TowardsZero) return rest_of(words, x, truncated(words, x, by), by);
  const Reg rest = floored_rest(words, x, {by.magnitude, false});
  if (!by.is_negative || by.magnitude == 1) return rest;
  const Reg surplus = words.if_zero(rest, words.number(0), words.number(by.magnitude));
  return words.numbers("sub", rest, surplus);
}

/// Of a divisor that only the launch knows. PTX rounds towards zero.
Reg divide_at_run_time(Words& words, Tracer& tracer, Quotient how, ir::Operand a, ir::Operand b,
                       bool wants_rest) {
  const bool is_done = !words.is_signed() || how == Quotient::TowardsZero;
  if (is_done) return words.numbers(wants_rest ? "rem" : "div", a, b);
  const Reg quotient = words.numbers("div", a, b);
  const Reg rest = words.numbers("sub", a, words.numbers("mul.lo", quotient, b));
  // Too high by one where something is left whose sign is not the divisor's.
  const Reg is_crossed = tracer.reg(isa::Type::Pred);
  tracer.emit(concat("setp.lt.", isa::info(words.type()).name),
              {is_crossed, words.patterns("xor", rest, b), words.number(0)});
  const Reg is_off = tracer.reg(isa::Type::Pred);
  tracer.emit(concat("setp.ne.and.", isa::info(words.type()).name),
              {is_off, rest, words.number(0), is_crossed});
  const Reg result = wants_rest ? rest : quotient;
  tracer.emit(concat(wants_rest ? "add" : "sub", ".", isa::info(words.type()).name),
              {result, result, wants_rest ? b : words.number(1)}, {is_off, false});
  return result;
}

/// The divisor, where it is a literal; a report where it is 0.
bool read_divisor(Tracer& tracer, const Value& value, isa::Type type, Divisor& found) {
  const std::int64_t* literal = value.integer();
  if (literal == nullptr) return false;
  found.is_negative = *literal < 0 && kind(type) == isa::TypeKind::Signed;
  found.magnitude = static_cast<std::uint64_t>(*literal);
  if (found.is_negative) found.magnitude = ~found.magnitude + 1;
  if (*literal == 0) refuse(tracer, {"a divisor", "other"}, "other than 0", "0");
  return true;
}

Reg divided(Tracer& tracer, Quotient how, const Value& a, const Value& b, std::string_view what,
            bool wants_rest) {
  const isa::Type type = common_type(tracer, what, a, b);
  if (tracer.has_error()) return {};
  if (!is_integer(type) || a.real() != nullptr || b.real() != nullptr) {
    refuse_operator(tracer, what, is_integer(type) ? isa::Type::F32 : type);
    return {};
  }
  check_order(tracer, a, type);
  check_order(tracer, b, type);
  Divisor by;
  const bool is_known = read_divisor(tracer, b, type, by);
  if (tracer.has_error()) return {};
  Words words(tracer, arithmetic_type(type));
  const ir::Operand dividend = operand(tracer, a, type, what);
  if (tracer.has_error()) return {};
  if (!is_known) {
    const ir::Operand divisor = operand(tracer, b, type, what);
    if (tracer.has_error()) return {};
    return divide_at_run_time(words, tracer, how, dividend, divisor, wants_rest);
  }
  const Reg x{dividend.register_id(), words.type(), tracer.tag()};
  return wants_rest ? rest_by_literal(words, how, x, by) : divide_by_literal(words, how, x, by);
}

}  // namespace

Reg divide(Tracer& tracer, Quotient how, Value a, Value b) {
  const bool is_floor = how == Quotient::Floor;
  const Expansion here(tracer, is_floor ? "operator //" : "operator /");
  return divided(tracer, how, a, b, is_floor ? "//" : "/", false);
}

Reg remainder(Tracer& tracer, Quotient how, Value a, Value b) {
  const Expansion here(tracer, "operator %");
  return divided(tracer, how, a, b, "%", true);
}

}  // namespace pyptx::build
