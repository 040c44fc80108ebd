// SPDX-License-Identifier: Apache-2.0
//
// Questions operators ask about types: which family, which neighbour of the same width.
#pragma once

#include <cstdint>
#include <string>

#include "pyptx/isa/type.h"

namespace pyptx::build {

inline isa::TypeKind kind(isa::Type type) { return isa::info(type).kind; }
inline std::uint32_t bits(isa::Type type) { return isa::info(type).bits; }
/// ".u32", for messages
inline std::string type_text(isa::Type type) { return "." + std::string(isa::info(type).name); }

/// How an author brings a value of one of these types to the other.
std::string conversion_advice(isa::Type a, isa::Type b);

/// A whole number of 8 to 64 bits, or bits of that width.
bool is_integer(isa::Type type);
/// A float format that has add, mul and setp.
bool is_arithmetic_float(isa::Type type);
/// Two halves in one register: a comparison has two results.
inline bool is_packed(isa::Type type) {
  return type == isa::Type::F16x2 || type == isa::Type::Bf16x2;
}
/// .bN of the register that holds it (8-bit values live in 16-bit registers).
isa::Type bit_type(isa::Type type);
/// .uN or .sN; bits count as unsigned, 8-bit types as 16-bit ones.
isa::Type arithmetic_type(isa::Type type);
isa::Type signed_type(isa::Type type);
/// Whether a mov carries a value of `from` over to `to` as it is.
bool is_move(isa::Type to, isa::Type from);
/// Whether `value` is a number of `type` (bits count as unsigned).
bool is_in_range(std::int64_t value, isa::Type type);
/// Whether `value` is representable, read as signed or unsigned.
bool fits(std::int64_t value, isa::Type type);

}  // namespace pyptx::build
