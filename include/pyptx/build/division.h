// SPDX-License-Identifier: Apache-2.0
//
// Whole quotients and remainders. Where the divisor is a literal there is no division: shifts for
// powers of two, else a multiplication by its reciprocal in fixed point, exact for every dividend
// (T. Granlund, P. Montgomery, "Division by Invariant Integers using Multiplication", 1994).
#pragma once

#include <cstdint>

#include "pyptx/build/operators.h"

namespace pyptx::build {

/// How a quotient is rounded, and with it whose sign a remainder has. Unsigned ones are the same.
enum class Quotient : std::uint8_t {
  Floor,        // Python's // and %: down, and the remainder has the divisor's sign
  TowardsZero,  // C's / and %, and PTX's div and rem: the remainder has the dividend's sign
};

/// a / b of integers in a fresh register; a literal b of 0 is refused, a register of 0 gives what
/// div gives. The lowest number divided by -1 is itself.
Reg divide(Tracer& tracer, Quotient how, Value a, Value b);
/// a - b * divide(a, b)
Reg remainder(Tracer& tracer, Quotient how, Value a, Value b);

/// x / divisor is the high half of x * multiplier, shifted right by `shift`.
struct Reciprocal {
  std::uint64_t multiplier = 0;
  std::uint32_t before = 0;  // x is shifted right by so much first
  std::uint32_t shift = 0;
  /// The multiplier has a bit more, above those of a register: x is added to the high half.
  bool has_carry = false;
};

/// Of a divisor that is no power of two, for every x of `dividend` bits in registers of `width`.
Reciprocal reciprocal(std::uint64_t divisor, std::uint32_t width, std::uint32_t dividend);

}  // namespace pyptx::build
