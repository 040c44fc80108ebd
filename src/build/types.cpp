// SPDX-License-Identifier: Apache-2.0
//
// Type families by width. See types.h.
#include "types.h"

#include <algorithm>
#include <cstdint>

namespace pyptx::build {
namespace {

isa::Type by_width(std::uint32_t width, isa::Type w16, isa::Type w32, isa::Type w64) {
  if (width <= 16) return w16;
  return width <= 32 ? w32 : w64;
}

}  // namespace

std::string conversion_advice(isa::Type a, isa::Type b) {
  if (a == isa::Type::Pred || b == isa::Type::Pred) {
    return "a predicate is no number: ptx.selp(type, d, x, y, p) picks one by it, `a != b` makes "
           "one";
  }
  return "convert one side with reg.from_(value, type)";
}

bool is_integer(isa::Type type) {
  switch (type) {
    case isa::Type::B8:
    case isa::Type::B16:
    case isa::Type::B32:
    case isa::Type::B64:
    case isa::Type::U8:
    case isa::Type::U16:
    case isa::Type::U32:
    case isa::Type::U64:
    case isa::Type::S8:
    case isa::Type::S16:
    case isa::Type::S32:
    case isa::Type::S64:
      return true;
    default:
      return false;
  }
}

bool is_arithmetic_float(isa::Type type) {
  switch (type) {
    case isa::Type::F16:
    case isa::Type::F16x2:
    case isa::Type::Bf16:
    case isa::Type::Bf16x2:
    case isa::Type::F32:
    case isa::Type::F64:
      return true;
    default:
      return false;
  }
}

isa::Type bit_type(isa::Type type) {
  if (bits(type) == 128) return isa::Type::B128;
  return by_width(bits(type), isa::Type::B16, isa::Type::B32, isa::Type::B64);
}

isa::Type arithmetic_type(isa::Type type) {
  if (kind(type) == isa::TypeKind::Signed) return signed_type(type);
  return by_width(bits(type), isa::Type::U16, isa::Type::U32, isa::Type::U64);
}

isa::Type signed_type(isa::Type type) {
  return by_width(bits(type), isa::Type::S16, isa::Type::S32, isa::Type::S64);
}

bool is_move(isa::Type to, isa::Type from) {
  if (to == from) return true;
  if (bits(to) != bits(from)) return false;
  if (bits(to) == 8) return false;  // u8 200 and s8 -56 differ in their registers
  const bool has_bits = kind(to) == isa::TypeKind::Bits || kind(from) == isa::TypeKind::Bits;
  return has_bits || (is_integer(to) && is_integer(from));
}

bool is_in_range(std::int64_t value, isa::Type type) {
  const std::uint32_t width = bits(type);
  if (width >= 64) return true;  // a literal above the signed range arrives as a negative one
  const std::int64_t limit = std::int64_t{1} << width;
  if (kind(type) == isa::TypeKind::Signed) return value >= -(limit / 2) && value < limit / 2;
  return value >= 0 && value < limit;
}

bool fits(std::int64_t value, isa::Type type) {
  const std::uint32_t width = std::max(bits(type), 1U);
  if (width >= 64) return true;
  const std::int64_t limit = std::int64_t{1} << width;
  return value >= -(limit / 2) && value < limit;
}

}  // namespace pyptx::build
