// SPDX-License-Identifier: Apache-2.0
//
// Vectors in braces (PTX ISA, "Vectors as Operands"). ptxas gives a vector one type before it looks
// at the instruction: elements have one size; a .bN element makes it .bN, and so does a mixture of
// .uN and .sN; a float goes only with itself and with .bN. It compares neighbours, so that .b32
// between .f32 and .u32 reconciles them.
#include <algorithm>
#include <optional>
#include <span>

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

/// The other floats are bits to ptxas (PTX ISA, "Fundamental Types").
bool is_fundamental_float(Type type) {
  return type == Type::F16 || type == Type::F32 || type == Type::F64;
}

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

/// In a vector a predicate counts for 32 bits, and goes with .b32.
unsigned bits_in_vector(const isa::TypeInfo& type) {
  return type.kind == TypeKind::Predicate ? 32 : type.bits;
}

/// The type of a vector that holds registers of both types; none where no vector can.
std::optional<Type> joined(Type first, Type second) {
  if (first == second || second == Type::None) return first;
  if (first == Type::None) return second;
  const isa::TypeInfo& a = isa::info(first);
  const isa::TypeInfo& b = isa::info(second);
  if (bits_in_vector(a) != bits_in_vector(b)) return std::nullopt;
  if (a.kind == TypeKind::Bits) return first;
  if (b.kind == TypeKind::Bits) return second;
  if (is_integer(a.kind) && is_integer(b.kind)) return bits_of(a.bits);
  return std::nullopt;
}

/// A literal takes the type of the vector's registers; where there are none, it is as if alone, and
/// of the operand's own type.
Misfit check_literal(const Scope& scope, const OperandSpec& spec, const Operand& literal,
                     Type elements) {
  if (elements == Type::None) {
    OperandSpec scalar = spec;
    scalar.vector = 0;
    scalar.also = {};
    Scope alone = scope;
    alone.asked = nullptr;  // what the place asks for is the vector's to note; this copy goes
    return check(alone, scalar, literal);
  }
  if (!has(spec.accept, Accept::Integer) && !has(spec.accept, Accept::Float)) return Misfit::Kind;
  const bool is_mixed = spec.registers == isa::Registers::Any;
  const TypeKind kind = is_mixed ? TypeKind::Bits : isa::info(elements).kind;
  const bool is_whole = literal.kind == OperandKind::Integer;
  const bool is_bits = kind == TypeKind::Bits;
  if (!is_bits && is_whole == (kind == TypeKind::Float)) return Misfit::Kind;
  // The 16-bit formats have none; a pair of them is 32 bits among .b32 registers.
  const bool has_literals = isa::info(spec.type).kind != TypeKind::Float ||
                            spec.type == Type::F32 || spec.type == Type::F64 ||
                            (is_bits && isa::info(elements).bits == 32);
  if (!has_literals) return Misfit::Kind;
  return !is_whole || admits_literal(spec, literal.value) ? Misfit::None : Misfit::Range;
}

/// The last element may have a range of its own.
OperandSpec spec_of_last(const OperandSpec& spec) {
  OperandSpec last = spec;
  last.maximum = spec.last;
  last.multiple = 1;
  return last;
}

bool is_literal(const Operand& element) {
  return element.kind == OperandKind::Integer || element.kind == OperandKind::Float32 ||
         element.kind == OperandKind::Float64;
}

/// An index and coordinates that are literals of two kinds: ptxas compares them with no type.
bool is_mixture(std::span<const Operand> elements) {
  return std::ranges::any_of(
             elements,
             [](const Operand& element) { return element.kind == OperandKind::Integer; }) &&
         std::ranges::any_of(
             elements, [](const Operand& element) { return element.kind != OperandKind::Integer; });
}

bool has_length(const OperandSpec& spec, std::uint32_t count) {
  const std::uint32_t wanted = spec.vector == 0 ? 1 : spec.vector;
  const bool is_longer_taken = spec.padded || spec.uncounted;
  return count == wanted || (is_longer_taken && count > wanted && (count == 2 || count == 4));
}

/// ptxas expands some instructions on some targets, into others that are strict.
bool is_strict(const Scope& scope, const OperandSpec& spec) {
  return spec.strict && (!spec.strict_needs || spec.strict_needs->admits(scope.module.target));
}

bool takes_sink(const Scope& scope, const OperandSpec& spec) {
  return !is_strict(scope, spec) &&
         (spec.role == isa::Role::Destination || has(spec.accept, Accept::Sink));
}

/// The register type of an element. A special register is a .bN one, even as a destination, unless
/// the place is a scalar that braces stand around.
std::optional<Type> type_of(const Scope& scope, const OperandSpec& spec, const Operand& element) {
  if (element.kind == OperandKind::Register) {
    return scope.function.at(element.register_id()).declared;
  }
  const bool is_scalar = spec.vector == 0 && !has(spec.odd, Accept::Vector);
  if (element.kind != OperandKind::Special || is_scalar) return std::nullopt;
  if (spec.ordinary || is_strict(scope, spec)) return std::nullopt;
  const auto& special = isa::info(static_cast<isa::SpecialRegister>(element.index));
  if (special.is_vector != (element.component != 0)) return std::nullopt;
  return special.type == Type::Pred ? Type::Pred : bits_of(isa::info(special.type).bits);
}

/// The layer of a texture array is a 32-bit integer register or a literal, whatever follows it.
bool is_index(const Scope& scope, const Operand& element) {
  if (element.kind != OperandKind::Register)
    return element.kind != OperandKind::Float32 && element.kind != OperandKind::Float64;
  const isa::TypeInfo& info = isa::info(scope.function.at(element.register_id()).declared);
  return info.bits == 32 && info.kind != TypeKind::Float && info.kind != TypeKind::Predicate;
}

bool holds_vector(const Scope& scope, const OperandSpec& spec, Type elements) {
  return any_type_here(scope, spec, [&](Type type) {
    if (holds_element(elements, type, spec.width, spec.registers)) return true;
    return spec.loose && is_fundamental_float(type) &&
           isa::info(elements).bits == isa::info(type).bits && is_integer(isa::info(elements).kind);
  });
}

}  // namespace

Misfit check_vector(const Scope& scope, const OperandSpec& spec, const Operand& operand) {
  if (!has(spec.accept, Accept::Vector)) return Misfit::Kind;
  // Where vectors may stand at all, {r} is as good as r.
  const bool is_scalar = spec.vector == 0 && has(spec.accept, Accept::Register);
  if (!is_scalar && spec.vector == 0) return Misfit::Kind;
  if ((spec.uncounted || is_scalar) && is_strict(scope, spec)) return Misfit::Kind;
  if (!has_length(spec, operand.count)) return Misfit::Elements;
  if (spec.indexed && !is_index(scope, scope.function.children(operand).front())) {
    return Misfit::Type;
  }
  Type elements = Type::None;
  Type neighbour = Type::None;
  // An index and coordinates are compared one by one.
  const bool is_mixed = spec.indexed || spec.registers == isa::Registers::Any;
  bool is_empty = true;
  bool has_literals = false;
  for (const Operand& element : scope.function.children(operand)) {
    if (element.kind == OperandKind::Sink && takes_sink(scope, spec)) continue;
    is_empty = false;
    if (const auto declared = type_of(scope, spec, element)) {
      if (*declared == neighbour) continue;  // long fragments repeat one type
      const bool is_layer = spec.indexed && &element == &scope.function.children(operand).front();
      const bool is_fit = is_mixed ? is_layer || holds_vector(scope, spec, *declared)
                                   : joined(neighbour, *declared).has_value();
      if (!is_fit) return Misfit::Type;
      if (is_layer) continue;
      neighbour = *declared;
      elements = joined(elements, *declared).value_or(bits_of(isa::info(*declared).bits));
    } else if (is_literal(element)) {
      has_literals = true;
    } else {
      return Misfit::Kind;
    }
  }
  if (is_empty) return Misfit::Kind;
  if (elements != Type::None && !holds_vector(scope, spec, elements)) return Misfit::Type;
  if (!has_literals) return Misfit::None;
  const auto children = scope.function.children(operand);
  if (elements == Type::None && spec.indexed && is_mixture(children)) return Misfit::None;
  for (const Operand& element : children) {
    if (!is_literal(element)) continue;
    const bool is_last = spec.last != INT64_MAX && &element == &children.back();
    const Misfit misfit =
        check_literal(scope, is_last ? spec_of_last(spec) : spec, element, elements);
    if (misfit != Misfit::None) return misfit;
  }
  return Misfit::None;
}

}  // namespace pyptx::verify
