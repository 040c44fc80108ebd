// SPDX-License-Identifier: Apache-2.0
//
// Instructions of pyptx::ptx whose type is a value, for kernels that are written for several types:
// ptx::add(type, {d, a, b}). Where the type is known, ptx::inst::add.f32(d, a, b) says the same and
// is checked by the compiler. See pyptx/build/forms.h. Each gives its first operand.
#pragma once

#include <initializer_list>
#include <optional>
#include <source_location>
#include <string>
#include <string_view>

#include "pyptx/author/operand.h"
#include "pyptx/build/forms.h"

namespace pyptx::author {

/// An operand of any kind.
using Any = Arg<Is::Register | Is::NegPred | Is::Vector | Is::Place | Is::Integer | Is::Real |
                Is::Parenthesized | Is::Pair | Is::Parts>;

}  // namespace pyptx::author

namespace pyptx::ptx {

using Where = std::source_location;
using author::Any;
using build::forms::Conversion;
/// The operands of one instruction, destinations first.
using Operands = std::initializer_list<author::Any>;

/// Any instruction by its text: ptx::instruction("add.f32", {d, a, b}).
Reg instruction(std::string_view spelling, Operands operands, const Guard& guard = {},
                Where where = Where::current());

/// d = a
Reg mov(isa::Type type, Operands operands, const Guard& guard = {}, Where where = Where::current());
/// d = a + b
Reg add(isa::Type type, Operands operands, const Guard& guard = {}, Where where = Where::current());
/// d = a - b
Reg sub(isa::Type type, Operands operands, const Guard& guard = {}, Where where = Where::current());
/// d = a * b; integers keep the low half where `mode` ("hi", "wide") says nothing else.
Reg mul(isa::Type type, Operands operands, const std::optional<std::string>& mode = {},
        const Guard& guard = {}, Where where = Where::current());
/// d = a * b + c: mad.mode, or fma.rn for floats.
Reg mad(isa::Type type, Operands operands, std::string_view mode = "lo", const Guard& guard = {},
        Where where = Where::current());
/// d = -a
Reg neg(isa::Type type, Operands operands, const Guard& guard = {}, Where where = Where::current());
/// d = |a|
Reg abs(isa::Type type, Operands operands, const Guard& guard = {}, Where where = Where::current());
/// The lesser of a and b.
Reg min(isa::Type type, Operands operands, const Guard& guard = {}, Where where = Where::current());
/// The greater of a and b.
Reg max(isa::Type type, Operands operands, const Guard& guard = {}, Where where = Where::current());
/// d = a << b
Reg shl(isa::Type type, Operands operands, const Guard& guard = {}, Where where = Where::current());
/// d = a >> b
Reg shr(isa::Type type, Operands operands, const Guard& guard = {}, Where where = Where::current());
/// d = a & b
Reg and_(isa::Type type, Operands operands, const Guard& guard = {},
         Where where = Where::current());
/// d = a | b
Reg or_(isa::Type type, Operands operands, const Guard& guard = {}, Where where = Where::current());
/// d = a ^ b
Reg xor_(isa::Type type, Operands operands, const Guard& guard = {},
         Where where = Where::current());
/// d = ~a
Reg not_(isa::Type type, Operands operands, const Guard& guard = {},
         Where where = Where::current());
/// d = p ? a : b
Reg selp(isa::Type type, Operands operands, const Guard& guard = {},
         Where where = Where::current());
/// p = a compared with b: "lt", "eq", ...
Reg setp(std::string_view comparison, isa::Type type, Operands operands, const Guard& guard = {},
         Where where = Where::current());
/// d of type `to` = a of type `from`
Reg cvt(isa::Type to, isa::Type from, Operands operands, const Conversion& how = {},
        const Guard& guard = {}, Where where = Where::current());

/// Where and how ld() and st() go.
struct AccessOptions {
  std::string_view space = "global";
  std::string_view cache = {};  // "cg", "cs", ...
  Guard guard = {};
};
/// ld.space.cache.type; a list is a vector.
Reg ld(isa::Type type, const Any& destination, const Any& address,
       const AccessOptions& options = {}, Where where = Where::current());
/// st.space.cache.type
void st(isa::Type type, const Any& address, const Any& source, const AccessOptions& options = {},
        Where where = Where::current());

}  // namespace pyptx::ptx
