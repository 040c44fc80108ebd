// SPDX-License-Identifier: Apache-2.0
//
// Words for operands: what a form wants and what was given.
#include <string>
#include <utility>

#include "operand.h"
#include "register_type.h"

namespace pyptx::verify {
namespace {

using ir::Operand;
using ir::OperandKind;
using isa::Accept;
using isa::OperandSpec;

constexpr std::pair<Accept, std::string_view> kAcceptWords[] = {
    {Accept::Register, "a register"},
    {Accept::Predicate, "a predicate register"},
    {Accept::NotPredicate, "a negated predicate"},
    {Accept::Integer, "an integer"},
    {Accept::Float, "a floating-point literal"},
    {Accept::Address, "an address in brackets"},
    {Accept::Vector, "a vector in braces"},
    {Accept::Symbol, "a variable"},
    {Accept::Label, "a label"},
    {Accept::Special, "a special register"},
    {Accept::Sink, "_"},
    {Accept::Parenthesized, "a list in parentheses"},
    {Accept::Pipe, "a pair such as d|p"},
};

std::string wanted_kinds(const OperandSpec& spec) {
  std::string text;
  for (const auto& [bit, words] : kAcceptWords) {
    if (!isa::has(spec.accept, bit)) continue;
    if (bit == Accept::Vector && spec.vector == 0) continue;
    if (bit == Accept::Float && !takes_float(spec)) continue;
    if (bit == Accept::Integer && isa::info(spec.type).kind == isa::TypeKind::Float) continue;
    if (bit == Accept::Predicate && spec.type != isa::Type::Pred) continue;
    if (bit == Accept::Register && spec.type == isa::Type::Pred) continue;
    if (!text.empty()) text += " or ";
    text += words;
  }
  return text;
}

std::string dotted(isa::Type type) { return "." + std::string(isa::info(type).name); }

const ir::Register& register_of(const Scope& scope, const Operand& operand) {
  return scope.function.at(operand.register_id());
}

std::string given_type(const Scope& scope, const Operand& operand) {
  if (operand.kind == OperandKind::Register || operand.kind == OperandKind::NotRegister) {
    const ir::Register& reg = register_of(scope, operand);
    return dotted(reg.type) + " (" + std::string(scope.module.text(reg.name)) + ")";
  }
  if (operand.kind == OperandKind::Special) {
    return dotted(isa::info(static_cast<isa::SpecialRegister>(operand.index)).type);
  }
  if (operand.kind == OperandKind::Symbol) {
    const bool is_wide = scope.module.address_size == 64;
    return "the " + std::string(is_wide ? "64" : "32") + "-bit address of " +
           std::string(scope.module.text(static_cast<ir::Symbol>(operand.index)));
  }
  return "another";
}

std::string given_kind(const Scope& scope, const Operand& operand) {
  switch (operand.kind) {
    case OperandKind::Register:
      return "register " + std::string(scope.module.text(register_of(scope, operand).name));
    case OperandKind::NotRegister:
      return "!" + std::string(scope.module.text(register_of(scope, operand).name));
    case OperandKind::Special:
      return std::string(isa::info(static_cast<isa::SpecialRegister>(operand.index)).name);
    case OperandKind::Integer:
      return "integer " + std::to_string(operand.value);
    case OperandKind::Float32:
    case OperandKind::Float64:
      return "a floating-point literal";
    case OperandKind::Symbol:
      return "variable " + std::string(scope.module.text(static_cast<ir::Symbol>(operand.index)));
    case OperandKind::Label:
      return "a label";
    case OperandKind::Address:
      return "an address";
    case OperandKind::Vector:
      return "a vector";
    case OperandKind::Parenthesized:
      return "a list in parentheses";
    case OperandKind::Pipe:
      return "a pair";
    case OperandKind::Sink:
      return "_";
    case OperandKind::None:
      break;
  }
  return "nothing";
}

/// The part of a composite that breaks the type rule; the operand itself otherwise.
Operand guilty_part(const Scope& scope, const OperandSpec& spec, const Operand& operand) {
  for (const Operand& part :
       operand.is_composite() ? scope.function.children(operand) : std::span<const Operand>{}) {
    if (part.kind == OperandKind::Vector) return guilty_part(scope, spec, part);
    if (part.kind != OperandKind::Register) continue;
    if (operand.kind == OperandKind::Address) return part;
    if (!holds(register_of(scope, part).declared, spec.type, spec.width)) return part;
  }
  return operand;
}

std::string wanted_type(const OperandSpec& spec, const Operand& operand) {
  if (operand.kind == OperandKind::Address) {
    return spec.coordinates != 0 ? ".u64 (the map) and .s32 (coordinates)"
                                 : ".u64 or .u32 (shared)";
  }
  const isa::TypeInfo& info = isa::info(spec.type);
  if (info.storage == spec.type) return dotted(spec.type);
  return dotted(info.storage) + " (for " + dotted(spec.type) + ")";
}

std::string literals(const OperandSpec& spec) {
  std::string text;
  for (const std::int64_t value : spec.literals) {
    if (!text.empty()) text += ", ";
    text += std::to_string(value);
  }
  if (!text.empty()) return "{" + text + "}";
  const bool is_bounded = spec.minimum != INT64_MIN;
  if (is_bounded) text = std::to_string(spec.minimum) + " to " + std::to_string(spec.maximum);
  if (spec.multiple != 1) {
    text += (is_bounded ? ", multiples of " : "the multiples of ") + std::to_string(spec.multiple);
  }
  return text;
}

std::string element_count(const Scope& scope, const OperandSpec& spec, const Operand& operand) {
  if (spec.coordinates == 0) {
    return std::to_string(operand.kind == OperandKind::Vector ? operand.count : 1);
  }
  const auto children = scope.function.children(operand);
  return std::to_string(children.size() < 2 ? 0 : children[1].count);
}

}  // namespace

diag::Diagnostic describe(const Scope& scope, const OperandSpec& spec, const Operand& operand,
                          Misfit misfit, std::size_t index, const isa::Spelling& spelling) {
  const std::string number = std::to_string(index + 1);
  const std::string name(spec.name);
  switch (misfit) {
    case Misfit::Type:
      return {diag::Kind::OperandType,
              {number, name, spelling.text, wanted_type(spec, operand),
               given_type(scope, guilty_part(scope, spec, operand))}};
    case Misfit::Elements: {
      const unsigned wanted = spec.coordinates != 0 ? spec.coordinates : spec.vector;
      return {diag::Kind::OperandVector,
              {number, name, spelling.text, std::to_string(wanted),
               element_count(scope, spec, operand)}};
    }
    case Misfit::Range:
      return {diag::Kind::ImmediateRange,
              {number, name, spelling.text, literals(spec), std::to_string(operand.value)}};
    case Misfit::Space:
      return {diag::Kind::AddressSpace,
              {number, name, spelling.text, std::string(isa::text(spec.state_space)),
               given_kind(scope, scope.function.children(operand)[0])}};
    case Misfit::Kind:
    case Misfit::None:
      break;
  }
  return {diag::Kind::OperandKind,
          {number, name, spelling.text, wanted_kinds(spec), given_kind(scope, operand)}};
}

}  // namespace pyptx::verify
