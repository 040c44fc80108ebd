// SPDX-License-Identifier: Apache-2.0
//
// Operand checks (PTX ISA, "Operands", "Addresses as Operands", "Type Checking").
#include "operand.h"

#include <algorithm>

#include "register_type.h"

namespace pyptx::verify {
namespace {

using ir::Operand;
using ir::OperandKind;
using isa::Accept;
using isa::has;
using isa::Modifier;
using isa::OperandSpec;
using isa::Type;
using isa::TypeKind;

bool is_float(Type type) { return isa::info(type).kind == TypeKind::Float; }

/// The types that a floating-point literal may stand for: 16-bit floats have no literals.
bool has_float_literals(Type type) {
  return type == Type::F32 || type == Type::F64 || type == Type::B32 || type == Type::B64;
}

Misfit check_register(const Scope& scope, const OperandSpec& spec, const Operand& operand) {
  const ir::Register& reg = scope.function.at(operand.register_id());
  const Type declared = reg.declared;
  const bool takes_predicate = has(spec.accept, Accept::Predicate);
  if (declared == Type::Pred) {
    if (takes_predicate && spec.type == Type::Pred) return Misfit::None;
    return has(spec.accept, Accept::Register) ? Misfit::Type : Misfit::Kind;
  }
  if (!has(spec.accept, Accept::Register)) return Misfit::Kind;
  if (spec.vector != 0) return Misfit::Elements;
  return holds(declared, spec.type, spec.width) && agrees(reg.type, spec.type) ? Misfit::None
                                                                               : Misfit::Type;
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
  const unsigned special_bits = isa::info(special.type).bits;
  // The lower half of a 32-bit special register may be read as 16 bits, as in PTX 1.x.
  return bits == special_bits || (bits == 16 && special_bits == 32) ? Misfit::None : Misfit::Type;
}

Misfit check_integer(const OperandSpec& spec, const Operand& operand) {
  if (!has(spec.accept, Accept::Integer) || is_float(spec.type)) return Misfit::Kind;
  if (spec.vector != 0) return Misfit::Elements;
  return admits_literal(spec, operand.value) ? Misfit::None : Misfit::Range;
}

Misfit check_float(const OperandSpec& spec) {
  if (!takes_float(spec)) return Misfit::Kind;
  return spec.vector != 0 ? Misfit::Elements : Misfit::None;
}

/// The address of a variable: a global one has all bits of the module's addresses.
Misfit check_symbol(const Scope& scope, const OperandSpec& spec, const Operand& operand) {
  if (!has(spec.accept, Accept::Symbol)) return Misfit::Kind;
  if (is_float(spec.type) || spec.type == Type::Pred) return Misfit::Type;
  const bool is_narrow = isa::info(spec.type).bits < scope.module.address_size;
  const bool is_global =
      is_narrow && space_of(scope, static_cast<ir::Symbol>(operand.index)) == ir::Space::Global;
  return is_global ? Misfit::Type : Misfit::None;
}

std::optional<ir::Space> named_space(Modifier space) {
  switch (space) {
    case Modifier::Global:
      return ir::Space::Global;
    case Modifier::Shared:
    case Modifier::SharedCta:
    case Modifier::SharedCluster:
      return ir::Space::Shared;
    case Modifier::Const:
      return ir::Space::Const;
    case Modifier::Local:
      return ir::Space::Local;
    case Modifier::Param:
    case Modifier::ParamEntry:
    case Modifier::ParamFunc:
      return ir::Space::Param;
    default:
      return std::nullopt;
  }
}

/// A 64-bit module addresses global and generic memory by 64-bit registers; the other windows are
/// small enough for 32 bits.
bool needs_full_address(Modifier space) {
  return space == Modifier::None || space == Modifier::Global;
}

Misfit check_base(const Scope& scope, const OperandSpec& spec, const Operand& base) {
  if (base.kind == OperandKind::Register) {
    const Type declared = scope.function.at(base.register_id()).declared;
    const isa::TypeInfo& info = isa::info(declared);
    if (info.kind == TypeKind::Float || info.kind == TypeKind::Predicate) return Misfit::Type;
    if (info.bits > 64) return Misfit::Type;
    const bool is_narrow = info.bits < scope.module.address_size;
    return needs_full_address(spec.state_space) && is_narrow ? Misfit::Type : Misfit::None;
  }
  if (base.kind == OperandKind::Symbol) {
    const auto wanted = named_space(spec.state_space);
    if (!wanted) return Misfit::None;
    const auto found = space_of(scope, static_cast<ir::Symbol>(base.index));
    return found && *found != *wanted ? Misfit::Space : Misfit::None;
  }
  if (base.kind == OperandKind::Integer) {
    return spec.state_space == Modifier::Local ? Misfit::None : Misfit::Kind;
  }
  return Misfit::Kind;
}

Misfit check_coordinates(const Scope& scope, const OperandSpec& spec, const Operand& list) {
  if (list.kind != OperandKind::Vector) return Misfit::Kind;
  if (list.count != spec.coordinates) return Misfit::Elements;
  for (const Operand& coordinate : scope.function.children(list)) {
    if (coordinate.kind == OperandKind::Integer) continue;
    if (coordinate.kind != OperandKind::Register) return Misfit::Kind;
    const Type declared = scope.function.at(coordinate.register_id()).declared;
    if (!holds(declared, Type::S32, isa::Width::Exact)) return Misfit::Type;
  }
  return Misfit::None;
}

Misfit check_address(const Scope& scope, const OperandSpec& spec, const Operand& operand) {
  if (!has(spec.accept, Accept::Address)) return Misfit::Kind;
  const std::span<const Operand> children = scope.function.children(operand);
  if (children.empty()) return Misfit::Kind;
  const Misfit base = check_base(scope, spec, children[0]);
  if (base != Misfit::None) return base;
  if (spec.coordinates == 0) return children.size() == 1 ? Misfit::None : Misfit::Kind;
  if (children.size() != 2) return Misfit::Elements;
  return check_coordinates(scope, spec, children[1]);
}

Misfit check_vector(const Scope& scope, const OperandSpec& spec, const Operand& operand) {
  if (!has(spec.accept, Accept::Vector) || spec.vector == 0) return Misfit::Kind;
  if (operand.count != spec.vector) return Misfit::Elements;
  Type last = Type::None;  // long fragments repeat one type: check it once
  for (const Operand& element : scope.function.children(operand)) {
    if (element.kind == OperandKind::Register) {
      const Type declared = scope.function.at(element.register_id()).declared;
      if (declared == last) continue;
      if (!holds_element(declared, spec.type, spec.width)) return Misfit::Type;
      last = declared;
    } else if (element.kind == OperandKind::Sink) {
      if (spec.role != isa::Role::Destination) return Misfit::Kind;
    } else if (element.kind == OperandKind::Integer) {
      if (!has(spec.accept, Accept::Integer) || is_float(spec.type)) return Misfit::Kind;
    } else if (element.kind == OperandKind::Float32 || element.kind == OperandKind::Float64) {
      if (!takes_float(spec)) return Misfit::Kind;
    } else {
      return Misfit::Kind;
    }
  }
  return Misfit::None;
}

/// d|p: the second is a predicate. `_` may stand for the first where the form takes a sink, and
/// for the second except in elect, whose d alone may be discarded.
Misfit check_pipe(const Scope& scope, const OperandSpec& spec, const Operand& operand) {
  if (!has(spec.accept, Accept::Pipe) || operand.count != 2) return Misfit::Kind;
  const std::span<const Operand> halves = scope.function.children(operand);
  if (halves[0].kind == OperandKind::Sink) {
    if (!has(spec.accept, Accept::Sink)) return Misfit::Kind;
  } else if (halves[0].kind != OperandKind::Register) {
    return Misfit::Kind;
  } else if (!holds(scope.function.at(halves[0].register_id()).declared, spec.type, spec.width)) {
    return Misfit::Type;
  }
  if (halves[1].kind == OperandKind::Sink) {
    return has(spec.accept, Accept::Sink) && spec.type != Type::Pred ? Misfit::Kind : Misfit::None;
  }
  if (halves[1].kind != OperandKind::Register) return Misfit::Kind;
  const Type second = scope.function.at(halves[1].register_id()).declared;
  return second == Type::Pred ? Misfit::None : Misfit::Type;
}

Misfit accepted(const OperandSpec& spec, Accept bit) {
  return has(spec.accept, bit) ? Misfit::None : Misfit::Kind;
}

}  // namespace

bool takes_float(const OperandSpec& spec) {
  return has(spec.accept, Accept::Float) && has_float_literals(spec.type);
}

bool admits_literal(const OperandSpec& spec, std::int64_t value) {
  if (value < spec.minimum || value > spec.maximum || value % spec.multiple != 0) return false;
  return spec.literals.empty() || std::ranges::find(spec.literals, value) != spec.literals.end();
}

std::optional<ir::Space> space_of(const Scope& scope, ir::Symbol name) {
  const auto find = [&](const std::vector<ir::Variable>& variables) -> const ir::Variable* {
    const auto found = std::ranges::find(variables, name, &ir::Variable::name);
    return found == variables.end() ? nullptr : &*found;
  };
  for (const auto* list : {&scope.function.variables, &scope.function.parameters,
                           &scope.function.returns, &scope.module.variables}) {
    if (const ir::Variable* variable = find(*list)) return variable->space;
  }
  return std::nullopt;
}

Misfit check(const Scope& scope, const OperandSpec& spec, const Operand& operand) {
  switch (operand.kind) {
    case OperandKind::Register:
      return check_register(scope, spec, operand);
    case OperandKind::NotRegister: {
      if (!has(spec.accept, Accept::NotPredicate)) return Misfit::Kind;
      const Type declared = scope.function.at(operand.register_id()).declared;
      return declared == Type::Pred && spec.type == Type::Pred ? Misfit::None : Misfit::Type;
    }
    case OperandKind::Special:
      return check_special(spec, operand);
    case OperandKind::Integer:
      return check_integer(spec, operand);
    case OperandKind::Float32:
    case OperandKind::Float64:
      return check_float(spec);
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
      return check_pipe(scope, spec, operand);
    case OperandKind::Sink:
      // elect's d|p may discard d, not the pair.
      if (has(spec.accept, Accept::Pipe) && spec.type != Type::Pred) return Misfit::Kind;
      return accepted(spec, Accept::Sink);
    case OperandKind::None:
      return Misfit::Kind;
  }
  return Misfit::Kind;
}

}  // namespace pyptx::verify
