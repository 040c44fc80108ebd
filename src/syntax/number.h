// SPDX-License-Identifier: Apache-2.0
//
// Numeric literals: where one ends, what kind it is, what it is worth. PTX ISA, sections 4.5.1
// (Integer Constants) and 4.5.2 (Floating-Point Constants).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "pyptx/syntax/token.h"

namespace pyptx::syntax {

/// One past the literal that begins at `begin`, taken as long as it can be: a malformed literal is
/// one bad token, not several good ones.
std::size_t number_end(std::string_view text, std::size_t begin);

struct NumberShape {
  TokenKind kind = TokenKind::Integer;
  std::string_view problem;  // empty: well formed
};
NumberShape classify_number(std::string_view literal);

/// An integer literal has a value and a type: unsigned by suffix, or where it does not fit .s64.
struct IntegerValue {
  std::uint64_t bits = 0;
  bool is_unsigned = false;
  bool is_cut = false;  // more than 64 bits were written
};
/// Nothing where ptxas takes the value for too large (or the literal is malformed): it cuts most
/// values beyond 64 bits to them.
std::optional<IntegerValue> integer_value(std::string_view literal);
/// The bits of 0fXXXXXXXX and 0dXXXXXXXXXXXXXXXX.
std::uint64_t hexadecimal_bits(std::string_view literal);
double decimal_value(std::string_view literal);

}  // namespace pyptx::syntax
