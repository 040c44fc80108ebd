// SPDX-License-Identifier: Apache-2.0
//
// Functions of pyptx::ptx that stand in an expression, as operators do: their results are fresh
// registers of the types that the operands ask for. See pyptx/build/operators.h.
#pragma once

#include <source_location>

#include "pyptx/author/reg.h"

namespace pyptx::ptx {

/// a where `condition` holds, else b.
Reg select(const Guard& condition, const author::Right& a, const author::Right& b,
           std::source_location where = std::source_location::current());
/// The lesser of a and b.
Reg min(const author::Right& a, const author::Right& b,
        std::source_location where = std::source_location::current());
/// The greater of a and b.
Reg max(const author::Right& a, const author::Right& b,
        std::source_location where = std::source_location::current());
/// a * b + c by one instruction: mad.lo, fma.rn of floats, mad.wide where c is twice as wide.
Reg mad(const author::Right& a, const author::Right& b, const author::Right& c,
        std::source_location where = std::source_location::current());
/// Python's a // b of integers: rounded down.
Reg floor_div(const author::Right& a, const author::Right& b,
              std::source_location where = std::source_location::current());
/// Python's a % b of integers: it has the divisor's sign.
Reg floor_mod(const author::Right& a, const author::Right& b,
              std::source_location where = std::source_location::current());

}  // namespace pyptx::ptx
