// SPDX-License-Identifier: Apache-2.0
#include "number.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <system_error>

#include "character.h"

namespace pyptx::syntax {
namespace {

constexpr std::size_t kSafeDigits = 19;  // fewer decimal digits always fit in .s64

enum class Prefix : std::uint8_t { None, Hexadecimal, Binary, Octal, Float32, Float64 };

Prefix prefix_of(std::string_view literal) {
  if (literal.size() < 2 || literal[0] != '0') return Prefix::None;
  switch (literal[1]) {
    case 'x':
    case 'X':
      return Prefix::Hexadecimal;
    case 'b':
    case 'B':
      return Prefix::Binary;
    case 'f':
    case 'F':
      return Prefix::Float32;
    case 'd':
    case 'D':
      return Prefix::Float64;
    default:
      return is_digit(literal[1]) ? Prefix::Octal : Prefix::None;
  }
}

std::uint64_t digit_value(char c) {
  if (is_digit(c)) return static_cast<std::uint64_t>(c - '0');
  if (!is_hex_digit(c)) return std::numeric_limits<std::uint64_t>::max();
  return static_cast<std::uint64_t>(c | 0x20) - 'a' + 10;
}

bool all_hex(std::string_view digits) { return std::ranges::all_of(digits, is_hex_digit); }

// digits [. digits] [e [sign] digits], where one side of the point may be empty.
bool is_decimal(std::string_view literal) {
  std::size_t i = 0;
  const auto digits = [&] {
    const std::size_t first = i;
    while (i < literal.size() && is_digit(literal[i])) ++i;
    return i - first;
  };
  std::size_t mantissa = digits();
  if (i < literal.size() && literal[i] == '.') {
    ++i;
    mantissa += digits();
  }
  if (mantissa == 0) return false;
  if (i < literal.size() && (literal[i] == 'e' || literal[i] == 'E')) {
    ++i;
    if (i < literal.size() && (literal[i] == '+' || literal[i] == '-')) ++i;
    if (digits() == 0) return false;
  }
  return i == literal.size();
}

NumberShape classify_integer(std::string_view literal, Prefix prefix) {
  std::string_view digits = literal;
  if (digits.ends_with('U')) digits.remove_suffix(1);
  const auto only = [](std::string_view text, char last) {
    return !text.empty() &&
           std::ranges::all_of(text, [&](char c) { return c >= '0' && c <= last; });
  };
  switch (prefix) {
    case Prefix::Hexadecimal:
      digits.remove_prefix(2);
      if (!digits.empty() && all_hex(digits)) return {};
      return {TokenKind::Integer, "0x is followed by hexadecimal digits"};
    case Prefix::Binary:
      digits.remove_prefix(2);
      if (only(digits, '1')) return {};
      return {TokenKind::Integer, "0b is followed by the digits 0 and 1"};
    case Prefix::Octal:
      if (only(digits, '7')) return {};
      return {TokenKind::Integer, "a leading 0 makes it octal, whose digits are 0 to 7"};
    default:
      if (only(digits, '9')) return {};
      return {TokenKind::Integer, "unexpected characters after the digits"};
  }
}

}  // namespace

std::size_t number_end(std::string_view text, std::size_t begin) {
  std::size_t i = begin;
  const bool prefixed = prefix_of(text.substr(begin, 2)) >= Prefix::Hexadecimal &&
                        prefix_of(text.substr(begin, 2)) != Prefix::Octal;
  while (i < text.size() && (is_name_byte(text[i]) || text[i] == '.')) {
    const bool exponent = !prefixed && (text[i] == 'e' || text[i] == 'E');
    ++i;
    if (exponent && i + 1 < text.size() && (text[i] == '+' || text[i] == '-') &&
        is_digit(text[i + 1])) {
      ++i;
    }
  }
  return i;
}

NumberShape classify_number(std::string_view literal) {
  const Prefix prefix = prefix_of(literal);
  if (prefix == Prefix::Float32 || prefix == Prefix::Float64) {
    const bool single = prefix == Prefix::Float32;
    const TokenKind kind = single ? TokenKind::Float32 : TokenKind::Float64;
    if (literal.size() == (single ? 10U : 18U) && all_hex(literal.substr(2))) return {kind, {}};
    return {kind, single ? "0f is followed by exactly 8 hexadecimal digits"
                         : "0d is followed by exactly 16 hexadecimal digits"};
  }
  const bool hexadecimal = prefix == Prefix::Hexadecimal || prefix == Prefix::Binary;
  if (!hexadecimal && literal.find_first_of(".eE") != std::string_view::npos) {
    if (is_decimal(literal)) return {TokenKind::Decimal, {}};
    return {TokenKind::Decimal, "a floating-point literal has no suffix and one point"};
  }
  return classify_integer(literal, prefix);
}

std::optional<IntegerValue> integer_value(std::string_view literal) {
  IntegerValue value;
  if (!literal.empty() && literal.size() < kSafeDigits &&
      (literal.size() == 1 || literal.front() != '0')) {
    std::size_t i = 0;
    for (; i < literal.size() && is_digit(literal[i]); ++i) {
      value.bits = value.bits * 10 + static_cast<std::uint64_t>(literal[i] - '0');
    }
    if (i == literal.size()) return value;
    value.bits = 0;
  }
  if (literal.ends_with('U')) {
    value.is_unsigned = true;
    literal.remove_suffix(1);
  }
  std::uint64_t base = 10;
  switch (prefix_of(literal)) {
    case Prefix::Hexadecimal:
      base = 16;
      literal.remove_prefix(2);
      break;
    case Prefix::Binary:
      base = 2;
      literal.remove_prefix(2);
      break;
    case Prefix::Octal:
      base = 8;
      break;
    default:
      break;
  }
  constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
  if (literal.empty()) return std::nullopt;
  for (const char c : literal) {
    const std::uint64_t digit = digit_value(c);
    // As ptxas does: what is over 64 bits is dropped, unless bit 63 was set before the last digit.
    if (digit >= base || value.bits > kMost) return std::nullopt;
    value.is_cut |= value.bits > (std::numeric_limits<std::uint64_t>::max() - digit) / base;
    value.bits = value.bits * base + digit;
  }
  value.is_unsigned |= value.bits > kMost;
  return value;
}

std::uint64_t hexadecimal_bits(std::string_view literal) {
  std::uint64_t bits = 0;
  if (literal.size() > 2) {
    std::from_chars(literal.data() + 2, literal.data() + literal.size(), bits, 16);
  }
  return bits;
}

double decimal_value(std::string_view literal) {
  double value = 0.0;
  const auto [stop, error] =
      std::from_chars(literal.data(), literal.data() + literal.size(), value);
  if (error != std::errc::result_out_of_range) return value;
  // Too large or too small for a double: from_chars leaves the value alone, PTX wants inf or 0.
  const std::size_t exponent = literal.find_first_of("eE");
  const bool tiny = exponent != std::string_view::npos && exponent + 1 < literal.size() &&
                    literal[exponent + 1] == '-';
  return tiny ? 0.0 : std::numeric_limits<double>::infinity();
}

}  // namespace pyptx::syntax
