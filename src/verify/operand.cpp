// SPDX-License-Identifier: Apache-2.0
//
// Checks of single operands (PTX ISA, "Operands", "Type Checking"); addresses and pairs are in
// operand_tree.cpp.
#include "operand.h"

#include <algorithm>

#include "pyptx/isa/ids.h"
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

bool is_float(Type type) { return isa::info(type).kind == TypeKind::Float; }

bool is_opaque_type(Type type) { return isa::info(type).kind == TypeKind::Opaque; }

/// What the reader found a symbol to be; nothing in authored code, where nobody has looked.
std::uint8_t resolution(const Operand& symbol) {
  return symbol.component & static_cast<std::uint8_t>(~ir::kZeroOffset);
}

/// By name, and by space where the reader knows it: an inner block may hide a variable of the same
/// name.
const ir::Variable* find_variable(const Scope& scope, const Operand& symbol) {
  const std::uint8_t known = resolution(symbol);
  const auto is_meant = [&](const ir::Variable& variable) {
    return variable.name == static_cast<ir::Symbol>(symbol.index) &&
           (known == 0 || known == ir::kSpaceComponent + static_cast<int>(variable.space));
  };
  for (const auto* list : {&scope.function.variables, &scope.function.parameters,
                           &scope.function.returns, &scope.module.variables}) {
    const auto found = std::ranges::find_if(*list, is_meant);
    if (found != list->end()) return &*found;
  }
  return nullptr;
}

/// The types that a floating-point literal may stand for: 16-bit floats have no literals, and bits
/// take only a literal of their size (0f... for .b32; 0d... and 1.5 for .b64).
bool has_float_literals(Type type) {
  return type == Type::F32 || type == Type::F64 || type == Type::B32 || type == Type::B64;
}
bool has_literal(Type type, OperandKind kind) {
  if (type == Type::B32) return kind == OperandKind::Float32;
  if (type == Type::B64) return kind == OperandKind::Float64;
  return type == Type::F32 || type == Type::F64;
}

/// The selector of r.b0 is one of those that the place takes.
bool lists_selector(const OperandSpec& spec, const Operand& operand) {
  return std::ranges::find(spec.selectors, operand.value) != spec.selectors.end();
}

/// A vector of one element keeps its braces, unless a register may stand alone there.
bool needs_braces(const OperandSpec& spec) {
  return !spec.bare &&
         (spec.vector > 1 || (spec.vector == 1 && !has(spec.accept, Accept::Register)));
}

/// A literal never stands for a vector by itself, unless the table says so.
bool needs_braces_around_literal(const OperandSpec& spec) { return !spec.bare && spec.vector > 0; }

Misfit check_register(const Scope& scope, const OperandSpec& spec, const Operand& operand) {
  if (has(spec.accept, Accept::Address)) return check_bare(scope, spec, operand);
  const ir::Register& reg = scope.function.at(operand.register_id());
  if (is_unseen(scope, spec)) return Misfit::None;
  if (reg.declared == Type::Pred) {
    if (operand.component == ir::kVideoSelector) return Misfit::Kind;
    if (has(spec.accept, Accept::Predicate) && spec.type == Type::Pred) return Misfit::None;
    if (has(spec.accept, Accept::Register) && fits_register(scope, reg, spec)) return Misfit::None;
    return has(spec.accept, Accept::Register) ? Misfit::Type : Misfit::Kind;
  }
  const bool is_selected = operand.component == ir::kVideoSelector;
  if (!has(spec.accept, is_selected ? Accept::Selector : Accept::Register)) return Misfit::Kind;
  if (is_selected && !lists_selector(spec, operand)) return Misfit::Kind;
  if (needs_braces(spec)) return Misfit::Elements;
  if (spec.typed && isa::info(reg.declared).kind == TypeKind::Bits) return Misfit::Type;
  return fits_register(scope, reg, spec) ? Misfit::None : Misfit::Type;
}

Misfit check_negated(const Scope& scope, const OperandSpec& spec, const Operand& operand) {
  if (!has(spec.accept, Accept::Negated)) return Misfit::Kind;
  if (operand.component == ir::kVideoSelector && !lists_selector(spec, operand)) {
    return Misfit::Kind;
  }
  const ir::Register& reg = scope.function.at(operand.register_id());
  const bool is_pair = reg.declared == Type::F16x2;  // taken elsewhere, but ptxas negates integers
  return !is_pair && fits_register(scope, reg, spec) ? Misfit::None : Misfit::Type;
}

Misfit check_special(const OperandSpec& spec, const Operand& operand) {
  if (!has(spec.accept, Accept::Special)) return Misfit::Kind;
  const auto& special = isa::info(static_cast<isa::SpecialRegister>(operand.index));
  if (special.is_vector != (operand.component != 0)) return Misfit::Kind;
  if (special.type == Type::Pred || spec.type == Type::Pred) {
    return special.type == spec.type ? Misfit::None : Misfit::Type;
  }
  if (is_float(spec.type)) return Misfit::Type;
  const unsigned bits = isa::info(spec.type).bits;
  const bool is_wider = spec.width == isa::Width::AtLeast && isa::info(special.type).bits > bits;
  return special.has_size(bits) || is_wider ? Misfit::None : Misfit::Type;
}

Misfit check_integer(const OperandSpec& spec, const Operand& operand) {
  if (!takes_integer(spec)) return Misfit::Kind;
  if (needs_braces_around_literal(spec)) return Misfit::Elements;
  return admits_literal(spec, operand.value) ? Misfit::None : Misfit::Range;
}

Misfit check_float(const OperandSpec& spec, OperandKind kind) {
  if (!takes_float(spec)) return Misfit::Kind;
  if (!any_type(spec, [&](Type type) { return has_literal(type, kind); })) return Misfit::Type;
  return needs_braces_around_literal(spec) ? Misfit::Elements : Misfit::None;
}

/// A texture, sampler or surface is named by a variable of its own type.
Misfit check_opaque(const Scope& scope, const OperandSpec& spec, const Operand& symbol) {
  const ir::Variable* variable = find_variable(scope, symbol);
  const bool is_known = variable == nullptr || any_type(spec, [&](Type type) {
                          return is_opaque_type(type) && type == variable->type;
                        });
  return is_known ? Misfit::None : Misfit::Type;
}

/// The address of a variable: a global one has all bits of the module's addresses.
Misfit check_symbol(const Scope& scope, const OperandSpec& spec, const Operand& operand) {
  if (has(spec.accept, Accept::Address)) return check_bare(scope, spec, operand);
  if (!has(spec.accept, Accept::Symbol)) return Misfit::Kind;
  if (is_float(spec.type) || spec.type == Type::Pred) return Misfit::Type;
  if (spec.type == Type::None) return Misfit::None;  // a name as such: the target of a call
  if (any_type(spec, is_opaque_type)) return check_opaque(scope, spec, operand);
  if (!lies_in(scope, spec.state_space, operand)) return Misfit::Space;
  const bool is_narrow = isa::info(spec.type).bits == 32 && scope.module.address_size == 64;
  const bool is_global = is_narrow && space_of(scope, operand) == ir::Space::Global;
  return is_global ? Misfit::Type : Misfit::None;
}

/// What a place must accept for an operand of that kind.
Accept needed(OperandKind kind) {
  switch (kind) {
    case OperandKind::Register:
      return Accept::Register;
    case OperandKind::Special:
      return Accept::Special;
    case OperandKind::Integer:
      return Accept::Integer;
    case OperandKind::Float32:
    case OperandKind::Float64:
      return Accept::Float;
    case OperandKind::Vector:
      return Accept::Vector;
    case OperandKind::Sink:
      return Accept::Sink;
    default:
      return Accept::Nothing;
  }
}

Misfit accepted(const OperandSpec& spec, Accept bit) {
  return has(spec.accept, bit) ? Misfit::None : Misfit::Kind;
}

}  // namespace

bool fits_register(const Scope& scope, const ir::Register& reg, const OperandSpec& spec) {
  return any_type_here(scope, spec, [&](Type type) {
    return holds(reg.declared, type, spec.width, spec.registers) &&
           (spec.registers == isa::Registers::Any || agrees(reg.type, type));
  });
}

bool takes_float(const OperandSpec& spec) {
  return has(spec.accept, Accept::Float) && any_type(spec, has_float_literals);
}

bool takes_integer(const OperandSpec& spec) {
  return has(spec.accept, Accept::Integer) &&
         any_type(spec, [](Type type) { return !is_float(type); });
}

bool admits_literal(const OperandSpec& spec, std::int64_t value) {
  // ptxas reads bar.sync 0x100000000 as bar.sync 0; most literals it checks as they stand.
  const bool fits = value >= INT32_MIN && value <= std::int64_t{UINT32_MAX};
  if (spec.nonzero && value == 0) return false;
  if (spec.cut && !fits) value = static_cast<std::uint32_t>(value);
  if (value < spec.minimum || value > spec.maximum || value % spec.multiple != 0) return false;
  if (spec.power_of_two && (value <= 0 || (value & (value - 1)) != 0)) return false;
  return spec.literals.empty() || std::ranges::find(spec.literals, value) != spec.literals.end();
}

std::optional<ir::Space> space_of(const Scope& scope, const Operand& symbol) {
  const std::uint8_t known = resolution(symbol);
  if (known == ir::kFunctionComponent) return std::nullopt;
  if (known != 0) return static_cast<ir::Space>(known - ir::kSpaceComponent);
  const ir::Variable* variable = find_variable(scope, symbol);
  return variable != nullptr ? std::optional(variable->space) : std::nullopt;
}

Misfit check(const Scope& scope, const OperandSpec& spec, const Operand& operand) {
  if (spec.needs && scope.asked != nullptr) scope.asked->add(*spec.needs);
  if (scope.by_manual && has(spec.odd, needed(operand.kind))) return Misfit::Kind;
  switch (operand.kind) {
    case OperandKind::Register:
      return check_register(scope, spec, operand);
    case OperandKind::NegatedRegister:
      return check_negated(scope, spec, operand);
    case OperandKind::NotRegister: {
      if (!has(spec.accept, Accept::NotPredicate)) return Misfit::Kind;
      const Type declared = scope.function.at(operand.register_id()).declared;
      const auto is_predicate = [](Type type) { return type == Type::Pred; };
      const bool fits = declared == Type::Pred && any_type_here(scope, spec, is_predicate);
      return fits ? Misfit::None : Misfit::Type;
    }
    case OperandKind::Special:
      return check_special(spec, operand);
    case OperandKind::Integer:
      return check_integer(spec, operand);
    case OperandKind::Float32:
    case OperandKind::Float64:
      return check_float(spec, operand.kind);
    case OperandKind::Symbol:
      return check_symbol(scope, spec, operand);
    case OperandKind::Label:
      return accepted(spec, Accept::Label);
    case OperandKind::Address:
      return check_address(scope, spec, operand);
    case OperandKind::Vector:
      return check_vector(scope, spec, operand);
    case OperandKind::Parenthesized:
      return accepted(spec, Accept::Parenthesized);
    case OperandKind::Pipe:
      return check_pair(scope, spec, operand);
    case OperandKind::Sink:
      return accepted(spec, Accept::Sink);
    case OperandKind::None:
    case OperandKind::Undeclared:
      return Misfit::Kind;
  }
  return Misfit::Kind;
}

}  // namespace pyptx::verify
