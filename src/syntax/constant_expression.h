// SPDX-License-Identifier: Apache-2.0
//
// Constant expressions, folded as they are read. PTX ISA, sections 4.5.4 to 4.5.6: integers are
// .s64 or .u64, floating point is .f64, and there is no conversion between the two.
#pragma once

#include <cstdint>
#include <optional>

#include "cursor.h"

namespace pyptx::syntax {

struct Constant {
  enum class Kind : std::uint8_t { Signed, Unsigned, Float };
  Kind kind = Kind::Signed;
  std::uint64_t bits = 0;  // the value, or the bits of the double

  bool is_float() const { return kind == Kind::Float; }
  std::int64_t integer() const { return static_cast<std::int64_t>(bits); }
};

/// Whether the current token can begin a constant expression.
bool at_constant(const Cursor& cursor);
/// The value, or nothing after a report (ExpectedToken, ConstantExpression, NestingTooDeep).
std::optional<Constant> parse_constant(Cursor& cursor);
/// The same where only an integer will do.
std::optional<std::int64_t> parse_integer_constant(Cursor& cursor);
/// A plain integer literal, for the places where PTX takes no expression (.align, array sizes).
std::optional<std::uint64_t> parse_integer_literal(Cursor& cursor);

}  // namespace pyptx::syntax
