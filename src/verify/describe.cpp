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

/// Without a state space the address is generic, and parameters and registers have none.
std::string space_text(const OperandSpec& spec) {
  if (spec.state_space == isa::Modifier{}) return "const, .global, .local or .shared";
  return std::string(isa::text(spec.state_space));
}

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
    {Accept::Negated, "a register with a minus"},
    {Accept::Selector, "a register with a video selector"},
};

std::string wanted_kinds(const OperandSpec& spec) {
  std::string text;
  for (const auto& [bit, words] : kAcceptWords) {
    if (!isa::has(spec.accept, bit) || isa::has(spec.odd, bit)) continue;
    if (bit == Accept::Vector && spec.vector == 0) continue;
    if (bit == Accept::Float && !takes_float(spec)) continue;
    if (bit == Accept::Integer && !takes_integer(spec)) continue;
    const bool is_predicate = bit == Accept::Predicate || bit == Accept::NotPredicate;
    if (is_predicate && spec.type != isa::Type::Pred) continue;
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
  if (operand.kind == OperandKind::Register || operand.kind == OperandKind::NotRegister ||
      operand.kind == OperandKind::NegatedRegister) {
    const ir::Register& reg = register_of(scope, operand);
    return dotted(reg.type) + " (" + scope.module.name(reg) + ")";
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
      return "register " + scope.module.name(register_of(scope, operand));
    case OperandKind::NotRegister:
      return "!" + scope.module.name(register_of(scope, operand));
    case OperandKind::NegatedRegister:
      return "-" + scope.module.name(register_of(scope, operand));
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
    case OperandKind::Undeclared:
      return "a name that nothing declares";
    case OperandKind::None:
      break;
  }
  return "nothing";
}

/// The place and the operand that are at odds: a part of an address or of a pair, or the whole.
struct Clash {
  const OperandSpec& spec;
  const Operand& operand;
  Misfit misfit;
};

Clash locate(const Scope& scope, const OperandSpec& spec, const Operand& operand, Misfit misfit) {
  const bool is_tree = operand.kind == OperandKind::Address || operand.kind == OperandKind::Pipe;
  if (!is_tree || spec.parts.empty()) return {spec, operand, misfit};
  const auto children = scope.function.children(operand);
  const std::size_t first = operand.kind == OperandKind::Address ? 1 : 0;
  const Fit parts = fit(scope, std::span(spec.parts).subspan(first), children.subspan(first));
  if (!parts.has_count || parts.spec == nullptr || parts.misfit == Misfit::None) {
    return {spec, operand, misfit};
  }
  return locate(scope, *parts.spec, children[first + parts.operand], parts.misfit);
}

/// The element of a vector that breaks the type rule; the operand itself otherwise.
Operand guilty_part(const Scope& scope, const OperandSpec& spec, const Operand& operand) {
  for (const Operand& part :
       operand.is_composite() ? scope.function.children(operand) : std::span<const Operand>{}) {
    if (part.kind != OperandKind::Register) continue;
    if (operand.kind == OperandKind::Address) return part;
    if (!holds(register_of(scope, part).declared, spec.type, spec.width, spec.registers)) {
      return part;
    }
  }
  return operand;
}

std::string type_words(isa::Type type, isa::Registers registers) {
  const isa::TypeInfo& info = isa::info(type);
  if (registers == isa::Registers::Plain) {
    const std::string plain = ".b" + std::to_string(isa::info(info.storage).bits);
    return plain == dotted(type) ? plain : plain + " (for " + dotted(type) + ")";
  }
  if (info.storage == type) return dotted(type);
  return dotted(info.storage) + " (for " + dotted(type) + ")";
}

std::string wanted_address(const Scope& scope, const OperandSpec& spec) {
  if (spec.type != isa::Type::None) return type_words(spec.type, spec.registers);
  const unsigned usual =
      needs_full_address(spec.state_space) ? scope.module.address_size : 32U | 64U;
  const unsigned sizes = widths_on(scope, spec).value_or(usual);
  std::string text;
  for (const unsigned bits : {32U, 64U}) {
    if ((sizes & bits) == 0) continue;
    text += (text.empty() ? ".u" : " or .u") + std::to_string(bits);
  }
  if (spec.state_space == isa::Modifier{}) return text + " (a generic address)";
  return text + " (an address in ." + std::string(isa::text(spec.state_space)) + ")";
}

std::string wanted_type(const Scope& scope, const OperandSpec& spec, const Operand& operand) {
  if (operand.kind == OperandKind::Address) return wanted_address(scope, spec);
  std::string text = type_words(spec.type, spec.registers);
  for (const isa::Type type : spec.also) {
    if (type != isa::Type::None) text += " or " + type_words(type, spec.registers);
  }
  return text;
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
  if (spec.nonzero) text += text.empty() ? "anything but 0" : ", not 0";
  if (spec.power_of_two) text += is_bounded ? ", powers of two" : "the powers of two";
  return text;
}

/// Elements of a vector; parts of an address.
unsigned wanted_elements(const OperandSpec& spec, const Operand& operand) {
  if (operand.kind != OperandKind::Address) return spec.vector;
  return static_cast<unsigned>(spec.parts.empty() ? 1 : spec.parts.size());
}

/// The literal at fault: the operand itself, or the first of a vector that does not fit.
std::int64_t guilty_literal(const Scope& scope, const OperandSpec& spec, const Operand& operand) {
  if (operand.kind == OperandKind::Vector) {
    for (const Operand& element : scope.function.children(operand)) {
      const bool is_literal = element.kind == OperandKind::Integer;
      if (is_literal && !admits_literal(spec, element.value)) return element.value;
    }
  }
  return operand.value;
}

diag::Diagnostic describe(const Scope& scope, const Clash& clash, const std::string& number,
                          const isa::Spelling& spelling) {
  const OperandSpec& spec = clash.spec;
  const Operand& operand = clash.operand;
  const std::string name(spec.name);
  switch (clash.misfit) {
    case Misfit::Type:
      return {diag::Kind::OperandType,
              {number, name, spelling.text, wanted_type(scope, spec, operand),
               given_type(scope, guilty_part(scope, spec, operand))}};
    case Misfit::Elements:
      return {diag::Kind::OperandVector,
              {number, name, spelling.text, std::to_string(wanted_elements(spec, operand)),
               std::to_string(operand.is_composite() ? operand.count : 1)}};
    case Misfit::Range:
      return {diag::Kind::ImmediateRange,
              {number, name, spelling.text, literals(spec),
               std::to_string(guilty_literal(scope, spec, operand))}};
    case Misfit::Space:
      return {diag::Kind::AddressSpace,
              {number, name, spelling.text, space_text(spec),
               given_kind(scope,
                          operand.is_composite() ? scope.function.children(operand)[0] : operand)}};
    case Misfit::Kind:
    case Misfit::None:
      break;
  }
  return {diag::Kind::OperandKind,
          {number, name, spelling.text, wanted_kinds(spec), given_kind(scope, operand)}};
}

}  // namespace

diag::Diagnostic describe(const Scope& scope, const OperandSpec& spec, const Operand& operand,
                          Misfit misfit, std::size_t index, const isa::Spelling& spelling) {
  return describe(scope, locate(scope, spec, operand, misfit), std::to_string(index + 1), spelling);
}

}  // namespace pyptx::verify
