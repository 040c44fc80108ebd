// SPDX-License-Identifier: Apache-2.0
//
// Type rules between registers and instruction types:
//   .bN takes every register of N bits; .uN and .sN take each other and .bN; a float type takes
//   itself and .bN; a type that is no register type (.bf16, .tf32, .u16x2, ...) takes .bN only.
//   Where an integer or predicate type comes from the instruction's words, ptxas takes .f16x2 too.
// Where wider registers are allowed, bits and integers may be wider, floats may not.
#include "register_type.h"

namespace pyptx::verify {
namespace {

using isa::Type;
using isa::TypeInfo;
using isa::TypeKind;

/// ptxas keeps .f16x2 registers as untyped 32-bit registers where a word of the instruction gives
/// an integer type, even for .pred.
bool is_untyped_pair(Type declared, TypeKind want, isa::Registers registers) {
  return declared == Type::F16x2 && registers == isa::Registers::Usual &&
         (is_integer(want) || want == TypeKind::Predicate);
}

/// A wider register: of any kind, or one that cvt makes narrower without rounding.
bool is_wide_enough(const TypeInfo& reg, const TypeInfo& want, isa::Width width) {
  if (width == isa::Width::Exact || reg.bits <= want.bits) return false;
  if (width == isa::Width::AtLeast) return true;
  const bool is_whole = reg.kind == TypeKind::Bits || is_integer(reg.kind);
  return is_whole && reg.bits <= 64 && want.kind != TypeKind::Float;
}

bool holds_usual(Type declared, Type type, isa::Width width, isa::Registers registers) {
  if (declared == type) return true;
  const TypeInfo& reg = isa::info(declared);
  const TypeInfo& want = isa::info(type);
  const bool is_pair = is_untyped_pair(declared, want.kind, registers);
  if (want.kind == TypeKind::Predicate) return is_pair;
  if (reg.kind == TypeKind::Predicate) return false;
  const bool is_same_size = reg.bits == isa::info(want.storage).bits;
  if (!want.is_register) {
    return is_same_size && (reg.kind == TypeKind::Bits || is_pair);
  }
  const bool fits = is_same_size || is_wide_enough(reg, want, width);
  if (!fits) return false;
  if (want.kind == TypeKind::Bits) return true;
  if (is_integer(want.kind) && is_integer(reg.kind)) return true;
  return reg.kind == TypeKind::Bits || is_pair;
}

}  // namespace

bool is_integer(TypeKind kind) { return kind == TypeKind::Signed || kind == TypeKind::Unsigned; }

bool holds(Type declared, Type type, isa::Width width, isa::Registers registers) {
  const TypeInfo& reg = isa::info(declared);
  const auto is_sized = [&] { return reg.bits == isa::info(isa::info(type).storage).bits; };
  switch (registers) {
    case isa::Registers::Usual:
    case isa::Registers::Fixed:
      return holds_usual(declared, type, width, registers);
    case isa::Registers::Plain:
      return reg.kind == TypeKind::Bits && is_sized();
    case isa::Registers::Exact:
      return declared == type;
    case isa::Registers::Any:
      return (reg.kind != TypeKind::Predicate || type == Type::Pred) && is_sized();
  }
  return false;
}

bool agrees(Type author, Type type) {
  const TypeInfo& want = isa::info(type);
  return !(is_integer(isa::info(author).kind) && want.kind == TypeKind::Float && want.is_register);
}

bool holds_element(Type declared, Type type, isa::Width width, isa::Registers registers) {
  if (holds(declared, type, width, registers)) return true;
  if (registers != isa::Registers::Usual && registers != isa::Registers::Fixed) return false;
  const TypeInfo& reg = isa::info(declared);
  const TypeInfo& want = isa::info(type);
  return width == isa::Width::AtLeast && want.kind == TypeKind::Float && is_integer(reg.kind) &&
         reg.bits == want.bits;
}

}  // namespace pyptx::verify
