// SPDX-License-Identifier: Apache-2.0
//
// Getting values into registers: literals, moves and conversions. See operators.h.
// PTX ISA, "mov", "cvt".
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "arguments.h"
#include "literals.h"
#include "pyptx/build/operators.h"
#include "pyptx/support/concat.h"
#include "types.h"

namespace pyptx::build {
namespace {

using support::concat;

bool is_half(isa::Type type) { return half_bits(0.0, type).has_value(); }

void mov(Tracer& tracer, Reg destination, ir::Operand source) {
  tracer.emit(concat("mov.", isa::info(move_type(destination.type)).name), {destination, source});
}

/// The bits of a literal in `type`, as an operand of mov.
ir::Operand literal_bits(Tracer& tracer, const Value& value, isa::Type type) {
  const bool is_float = kind(type) == isa::TypeKind::Float;
  if (const double* real = value.real()) {
    if (overflows(*real, type)) {
      tracer.report({diag::Kind::LiteralRange, {text_of(*real), type_text(type)}});
      return {};
    }
    if (const auto half = half_bits(*real, type)) return ir::Operand::integer(*half);
    if (type == isa::Type::F32 || type == isa::Type::Tf32) {
      return ir::Operand::f32(static_cast<float>(*real));
    }
    if (type == isa::Type::F64) return ir::Operand::f64(*real);
    tracer.report({diag::Kind::LiteralRange, {text_of(*real), type_text(type)}});
    return {};
  }
  const std::int64_t integer = *value.integer();
  if (is_float && (is_arithmetic_float(type) || type == isa::Type::Tf32)) {
    return literal_bits(tracer, static_cast<double>(integer), type);
  }
  if (!fits(integer, type)) {
    tracer.report({diag::Kind::LiteralRange, {std::to_string(integer), type_text(type)}});
  }
  // An 8-bit value lives extended in a 16-bit register.
  if (type == isa::Type::S8) return ir::Operand::integer(static_cast<std::int8_t>(integer));
  if (bits(type) == 8) return ir::Operand::integer(static_cast<std::uint8_t>(integer));
  return ir::Operand::integer(integer);
}

/// cvt between numbers; the rounding is part of the form where the result may be inexact.
void cvt(Tracer& tracer, Reg destination, Reg source) {
  const isa::Type to = destination.type;
  const isa::Type from = source.type;
  const bool to_float = kind(to) == isa::TypeKind::Float;
  const bool from_float = kind(from) == isa::TypeKind::Float;
  std::string_view rounding;
  if (to_float && !from_float) rounding = ".rn";
  if (!to_float && from_float) rounding = ".rzi";
  if (to_float && from_float && bits(to) < bits(from)) rounding = ".rn";
  if (to == isa::Type::Tf32) rounding = ".rna";
  const auto number = [](isa::Type type) {
    if (kind(type) != isa::TypeKind::Bits) return type;
    return bits(type) == 8 ? isa::Type::U8 : arithmetic_type(type);
  };
  tracer.emit(
      concat("cvt", rounding, ".", isa::info(number(to)).name, ".", isa::info(number(from)).name),
      {destination, source});
}

bool is_number(isa::Type type) { return is_integer(type) || kind(type) == isa::TypeKind::Float; }

/// A register of `type` with the value of narrower integer `source`, extended by its own sign.
Reg widen(Tracer& tracer, Reg source, isa::Type type) {
  const bool is_signed = kind(source.type) == isa::TypeKind::Signed;
  const Reg wide = tracer.reg(is_signed ? signed_type(type) : arithmetic_type(type));
  cvt(tracer, wide, source);
  return wide;
}

}  // namespace

isa::Type move_type(isa::Type type) {
  switch (type) {
    case isa::Type::Pred:
    case isa::Type::U16:
    case isa::Type::U32:
    case isa::Type::U64:
    case isa::Type::S16:
    case isa::Type::S32:
    case isa::Type::S64:
    case isa::Type::F32:
    case isa::Type::F64:
      return type;
    default:
      return bit_type(type);
  }
}

ir::Operand operand(Tracer& tracer, Value value, isa::Type type, std::string_view what) {
  if (const Reg* reg = value.reg()) {
    const bool is_narrower = is_integer(reg->type) && is_integer(type) &&
                             bits(reg->type) < bits(type) && bits(type) > 16;
    if (is_narrower) return widen(tracer, *reg, type);
    const bool is_same = bits(reg->type) == bits(type) && (reg->type == type || is_integer(type)) &&
                         is_integer(reg->type) == is_integer(type);
    const bool is_small =
        is_integer(reg->type) && is_integer(type) && bits(reg->type) <= 16 && bits(type) <= 16;
    if (!is_same && !is_small) {
      tracer.report(diag::Diagnostic(diag::Kind::MixedTypes,
                                     {std::string(what), type_text(type), type_text(reg->type)})
                        .note(conversion_advice(type, reg->type)));
    }
    return *reg;
  }
  const ir::Operand literal = literal_bits(tracer, value, type);
  if (!is_half(type) || tracer.has_error()) return literal;
  const Reg constant = tracer.reg(type);  // the 16-bit formats have no literal
  mov(tracer, constant, literal);
  return constant;
}

Reg scalar(Tracer& tracer, isa::Type type, std::optional<Value> init, std::string_view name) {
  if (init && init->reg() != nullptr && !is_move(type, init->reg()->type)) {
    const Reg source = *init->reg();
    if (!is_number(type) || !is_number(source.type)) {
      auto problem = diag::Diagnostic(diag::Kind::MixedTypes,
                                      {"reg.scalar", type_text(type), type_text(source.type)});
      if (type == isa::Type::Pred || source.type == isa::Type::Pred) {
        problem->notes.push_back(conversion_advice(type, source.type));
      }
      tracer.report(std::move(problem).about("init|src"));
      return {};
    }
    const Reg result = tracer.reg(type, name);
    cvt(tracer, result, source);
    return result;
  }
  const Reg result = tracer.reg(type, name);
  if (init) assign(tracer, result, *init);
  return result;
}

Reg convert(Tracer& tracer, Value source, isa::Type type) { return scalar(tracer, type, source); }

void assign(Tracer& tracer, Reg destination, Value source) {
  if (const Reg* reg = source.reg()) {
    if (!is_move(destination.type, reg->type)) {
      tracer.report(diag::Diagnostic(diag::Kind::MixedTypes,
                                     {"=", type_text(destination.type), type_text(reg->type)})
                        .note(conversion_advice(destination.type, reg->type)));
      return;
    }
    if (reg->id == destination.id) return;
    const bool is_alike = is_integer(destination.type) == is_integer(reg->type);
    const isa::Type named = is_alike ? move_type(destination.type) : bit_type(destination.type);
    tracer.emit(concat("mov.", isa::info(named).name), {destination, *reg});
    return;
  }
  const ir::Operand literal = literal_bits(tracer, source, destination.type);
  if (!tracer.has_error()) mov(tracer, destination, literal);
}

std::vector<Reg> wgmma_fragment(Tracer& tracer, std::int64_t m, std::int64_t n, isa::Type type,
                                std::string_view name) {
  constexpr std::int64_t kThreads = 128;
  if (m <= 0 || n <= 0 || m * n % kThreads != 0) {
    refuse(tracer, {"m * n of a warpgroup fragment", "n"}, "a positive multiple of 128",
           concat(m, " * ", n));
    return {};
  }
  return tracer.reg_array(type, static_cast<std::size_t>(m * n / kThreads), name);
}

}  // namespace pyptx::build
