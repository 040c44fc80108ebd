// SPDX-License-Identifier: Apache-2.0
//
// Type rules between registers and instruction types:
//   .bN takes every register of N bits; .uN and .sN take each other and .bN; a float type takes
//   itself and .bN; a type that is no register type (.bf16, .tf32, .u16x2, ...) takes .bN only.
// Where wider registers are allowed, bits and integers may be wider, floats may not.
#include "register_type.h"

namespace pyptx::verify {
namespace {

using isa::Type;
using isa::TypeInfo;
using isa::TypeKind;

bool is_integer(TypeKind kind) { return kind == TypeKind::Signed || kind == TypeKind::Unsigned; }

/// ptxas keeps .f16x2 registers as untyped 32-bit registers for integer instructions.
bool is_plain_bits(const TypeInfo& info, Type declared) {
  return info.kind == TypeKind::Bits || declared == Type::F16x2;
}

}  // namespace

bool holds(Type declared, Type type, isa::Width width) {
  if (declared == type) return true;
  const TypeInfo& reg = isa::info(declared);
  const TypeInfo& want = isa::info(type);
  if (reg.kind == TypeKind::Predicate || want.kind == TypeKind::Predicate) return false;
  const bool is_same_size = reg.bits == isa::info(want.storage).bits;
  if (!want.is_register) {
    return is_same_size &&
           (reg.kind == TypeKind::Bits || (declared == Type::F16x2 && is_integer(want.kind)));
  }
  const bool fits = is_same_size || (width == isa::Width::AtLeast && reg.bits > want.bits);
  if (!fits) return false;
  if (want.kind == TypeKind::Bits) return true;
  if (is_integer(want.kind)) return is_integer(reg.kind) || is_plain_bits(reg, declared);
  return reg.kind == TypeKind::Bits;
}

bool agrees(Type author, Type type) {
  const TypeInfo& want = isa::info(type);
  return !(is_integer(isa::info(author).kind) && want.kind == TypeKind::Float && want.is_register);
}

bool holds_element(Type declared, Type type, isa::Width width) {
  if (holds(declared, type, width)) return true;
  const TypeInfo& reg = isa::info(declared);
  const TypeInfo& want = isa::info(type);
  return width == isa::Width::AtLeast && want.kind == TypeKind::Float && is_integer(reg.kind) &&
         reg.bits == want.bits;
}

}  // namespace pyptx::verify
