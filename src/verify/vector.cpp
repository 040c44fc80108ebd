// SPDX-License-Identifier: Apache-2.0
//
// Vectors in braces (PTX ISA, "Vectors as Operands"). ptxas gives a vector one type before it looks
// at the instruction: elements have one size; a .bN element makes it .bN, and so does a mixture of
// .uN and .sN; a float goes only with itself and with .bN. It compares neighbours, so that .b32
// between .f32 and .u32 reconciles them.
#include <optional>

#include "operand.h"
#include "pyptx/isa/ids.h"
#include "pyptx/isa/type.h"
#include "register_type.h"

namespace pyptx::verify {
namespace {

using ir::Operand;
using ir::OperandKind;
using isa::Accept;
using isa::has;
using isa::OperandSpec;
using isa::Type;
using isa::TypeKind;

bool is_integer(TypeKind kind) { return kind == TypeKind::Signed || kind == TypeKind::Unsigned; }

Type bits_of(unsigned size) {
  switch (size) {
    case 8:
      return Type::B8;
    case 16:
      return Type::B16;
    case 32:
      return Type::B32;
    default:
      return Type::B64;
  }
}

/// The type of a vector that holds registers of both types; none where no vector can.
std::optional<Type> joined(Type first, Type second) {
  if (first == second || second == Type::None) return first;
  if (first == Type::None) return second;
  const isa::TypeInfo& a = isa::info(first);
  const isa::TypeInfo& b = isa::info(second);
  if (a.bits != b.bits) return std::nullopt;
  if (a.kind == TypeKind::Bits) return first;
  if (b.kind == TypeKind::Bits) return second;
  if (is_integer(a.kind) && is_integer(b.kind)) return bits_of(a.bits);
  return std::nullopt;
}

/// A literal takes the type of the vector's registers; where there are none, it is as if alone.
Misfit check_literal(const Scope& scope, const OperandSpec& spec, const Operand& literal,
                     Type elements) {
  if (elements == Type::None) {
    OperandSpec scalar = spec;
    scalar.vector = 0;
    Scope alone = scope;
    alone.asked = nullptr;  // what the place asks for is the vector's to note; this copy goes
    return check(alone, scalar, literal);
  }
  if (!has(spec.accept, Accept::Integer) && !has(spec.accept, Accept::Float)) return Misfit::Kind;
  const bool has_literals = isa::info(spec.type).kind != TypeKind::Float ||
                            spec.type == Type::F32 || spec.type == Type::F64;
  if (!has_literals) return Misfit::Kind;  // the 16-bit formats have none
  const bool is_mixed = spec.registers == isa::Registers::Any;
  const TypeKind kind = is_mixed ? TypeKind::Bits : isa::info(elements).kind;
  const bool is_whole = literal.kind == OperandKind::Integer;
  if (kind != TypeKind::Bits && is_whole == (kind == TypeKind::Float)) return Misfit::Kind;
  return !is_whole || admits_literal(spec, literal.value) ? Misfit::None : Misfit::Range;
}

bool is_literal(const Operand& element) {
  return element.kind == OperandKind::Integer || element.kind == OperandKind::Float32 ||
         element.kind == OperandKind::Float64;
}

bool has_length(const OperandSpec& spec, std::uint32_t count) {
  const std::uint32_t wanted = spec.vector == 0 ? 1 : spec.vector;
  return count == wanted || (spec.padded && count > wanted && (count == 2 || count == 4));
}

bool takes_sink(const OperandSpec& spec) {
  return !spec.strict && (spec.role == isa::Role::Destination || has(spec.accept, Accept::Sink));
}

/// The register type of an element. A special register is a .bN one, even as a destination, unless
/// it stands alone.
std::optional<Type> type_of(const Scope& scope, const OperandSpec& spec, const Operand& element) {
  if (element.kind == OperandKind::Register) {
    return scope.function.at(element.register_id()).declared;
  }
  if (element.kind != OperandKind::Special || spec.strict || spec.vector < 2) return std::nullopt;
  const auto& special = isa::info(static_cast<isa::SpecialRegister>(element.index));
  if (special.is_vector != (element.component != 0)) return std::nullopt;
  return special.type == Type::Pred ? Type::Pred : bits_of(isa::info(special.type).bits);
}

/// The layer of a texture array is an integer register or literal, whatever follows it.
bool is_index(const Scope& scope, const Operand& element) {
  if (element.kind != OperandKind::Register)
    return element.kind != OperandKind::Float32 && element.kind != OperandKind::Float64;
  return isa::info(scope.function.at(element.register_id()).declared).kind != TypeKind::Float;
}

bool holds_vector(const OperandSpec& spec, Type elements) {
  const auto holds = [&](Type type) {
    return holds_element(elements, type, spec.width, spec.registers);
  };
  if (holds(spec.type)) return true;
  for (const Type type : spec.also) {
    if (type != Type::None && holds(type)) return true;
  }
  return false;
}

}  // namespace

Misfit check_vector(const Scope& scope, const OperandSpec& spec, const Operand& operand) {
  if (!has(spec.accept, Accept::Vector)) return Misfit::Kind;
  // Where vectors may stand at all, {r} is as good as r.
  const bool is_scalar = spec.vector == 0 && has(spec.accept, Accept::Register);
  if (!is_scalar && spec.vector == 0) return Misfit::Kind;
  if (!has_length(spec, operand.count)) return Misfit::Elements;
  if (spec.indexed && !is_index(scope, scope.function.children(operand).front())) {
    return Misfit::Type;
  }
  Type elements = Type::None;
  Type neighbour = Type::None;
  const bool is_mixed = spec.registers == isa::Registers::Any;  // an index and coordinates
  bool is_empty = true;
  bool has_literals = false;
  for (const Operand& element : scope.function.children(operand)) {
    if (element.kind == OperandKind::Sink && takes_sink(spec)) continue;
    is_empty = false;
    if (const auto declared = type_of(scope, spec, element)) {
      if (*declared == neighbour) continue;  // long fragments repeat one type
      if (is_mixed ? !holds_vector(spec, *declared) : !joined(neighbour, *declared)) {
        return Misfit::Type;
      }
      neighbour = *declared;
      elements = joined(elements, *declared).value_or(bits_of(isa::info(*declared).bits));
    } else if (is_literal(element)) {
      has_literals = true;
    } else {
      return Misfit::Kind;
    }
  }
  if (is_empty) return Misfit::Kind;
  if (elements != Type::None && !holds_vector(spec, elements)) return Misfit::Type;
  if (!has_literals) return Misfit::None;
  for (const Operand& element : scope.function.children(operand)) {
    if (!is_literal(element)) continue;
    const Misfit misfit = check_literal(scope, spec, element, elements);
    if (misfit != Misfit::None) return misfit;
  }
  return Misfit::None;
}

}  // namespace pyptx::verify
