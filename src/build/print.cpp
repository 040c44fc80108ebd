// SPDX-License-Identifier: Apache-2.0
//
// vprintf and __assertfail. A format string and its values are checked while tracing, since the
// device prints whatever bits it finds. See print.h.
#include "pyptx/build/print.h"

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "pyptx/support/concat.h"
#include "types.h"

namespace pyptx::build {
namespace {

using ir::Operand;
using support::concat;

/// What one conversion takes.
struct Conversion {
  enum class Kind : std::uint8_t { Integer, Float, Address } kind = Kind::Integer;
  bool is_signed = false;
  bool is_wide = false;  // 64 bits
  std::string text;      // "%lld"
};

bool report_format(Tracer& tracer, std::string problem) {
  tracer.report({diag::Kind::FormatString, {std::move(problem)}});
  return false;
}

/// Reads one conversion after its %; a * adds a conversion of its own. False where it is none.
bool read_conversion(std::string_view& rest, std::vector<Conversion>& list) {
  const std::string_view start = rest;
  const auto skip = [&](std::string_view set) {
    while (!rest.empty() && set.find(rest.front()) != std::string_view::npos) {
      if (rest.front() == '*') list.push_back({Conversion::Kind::Integer, true, false, "*"});
      rest.remove_prefix(1);
    }
  };
  skip("#0- +");
  skip("*0123456789");
  if (rest.starts_with('.')) {
    rest.remove_prefix(1);
    skip("*0123456789");
  }
  const std::string_view size = rest.substr(0, rest.find_first_not_of("hl"));
  rest.remove_prefix(size.size());
  if (rest.empty()) return false;
  Conversion made;
  made.is_wide = size == "l" || size == "ll";
  const char letter = rest.front();
  rest.remove_prefix(1);
  made.text = concat("%", start.substr(0, start.size() - rest.size()));
  constexpr std::string_view kSigned = "di";
  constexpr std::string_view kUnsigned = "uxXoc";
  constexpr std::string_view kFloats = "fFeEgGaA";
  constexpr std::string_view kAddresses = "ps";
  made.is_signed = kSigned.find(letter) != std::string_view::npos;
  if (kFloats.find(letter) != std::string_view::npos) {
    made.kind = Conversion::Kind::Float;
  } else if (kAddresses.find(letter) != std::string_view::npos) {
    made.kind = Conversion::Kind::Address;
  } else if (!made.is_signed && kUnsigned.find(letter) == std::string_view::npos) {
    return false;
  }
  list.push_back(std::move(made));
  return true;
}

std::optional<std::vector<Conversion>> conversions_of(Tracer& tracer, std::string_view format) {
  std::vector<Conversion> list;
  if (format.find('\0') != std::string_view::npos) {
    report_format(tracer, "the format has a zero character inside");
    return std::nullopt;
  }
  for (auto at = format.find('%'); at != std::string_view::npos; at = format.find('%')) {
    format.remove_prefix(at + 1);
    if (format.starts_with('%')) {
      format.remove_prefix(1);
      continue;
    }
    const std::string_view start = format;
    if (!read_conversion(format, list)) {
      report_format(tracer, concat("'%", start.substr(0, 4), "' is no conversion"));
      return std::nullopt;
    }
  }
  return list;
}

std::string got(const Value& value) {
  if (value.reg() != nullptr) return concat("a register of type ", type_text(value.reg()->type));
  return value.integer() != nullptr ? "an integer" : "a float";
}

/// The value as the register that goes into the buffer: u32, s32, u64, s64 or f64.
std::optional<Reg> promoted(Tracer& tracer, const Conversion& conversion, const Value& value) {
  const auto misfit = [&](std::string_view wanted) -> std::optional<Reg> {
    report_format(tracer, concat("'", conversion.text, "' takes ", wanted, ", got ", got(value)));
    return std::nullopt;
  };
  const Reg* reg = value.reg();
  if (conversion.kind == Conversion::Kind::Float) {
    const bool is_float =
        reg == nullptr || (kind(reg->type) == isa::TypeKind::Float &&
                           is_arithmetic_float(reg->type) && !is_packed(reg->type));
    if (!is_float) return misfit("a float");
    if (reg == nullptr) return scalar(tracer, isa::Type::F64, value);
    // bf16 has no cvt to f64 of its own.
    const bool is_small = bits(reg->type) == 16;
    const Reg word = is_small ? convert(tracer, *reg, isa::Type::F32) : *reg;
    return word.type == isa::Type::F64 ? word : convert(tracer, word, isa::Type::F64);
  }
  const bool is_wide = conversion.is_wide || conversion.kind == Conversion::Kind::Address;
  const isa::Type type = is_wide ? (conversion.is_signed ? isa::Type::S64 : isa::Type::U64)
                                 : (conversion.is_signed ? isa::Type::S32 : isa::Type::U32);
  if (reg != nullptr && reg->type == isa::Type::Pred && !is_wide) {
    const Reg number = tracer.reg(isa::Type::U32);
    tracer.emit("selp.u32", {number, Operand::integer(1), Operand::integer(0), *reg});
    return number;
  }
  const bool is_number = reg != nullptr ? reg->type != isa::Type::Pred && is_integer(reg->type)
                                        : value.integer() != nullptr;
  if (conversion.kind == Conversion::Kind::Address) {
    if (reg == nullptr || !is_number || bits(reg->type) != 64) return misfit("a 64-bit address");
    return *reg;
  }
  const bool fits_size =
      reg == nullptr || (is_wide ? bits(reg->type) == 64 : bits(reg->type) <= 32);
  if (!is_number || !fits_size) {
    return misfit(is_wide ? "an integer of 64 bits" : "an integer of up to 32 bits (64: ll)");
  }
  const bool is_whole = reg != nullptr && bits(reg->type) == bits(type);
  return is_whole ? *reg : scalar(tracer, type, value);
}

/// The generic address of a variable.
Reg generic_address(Tracer& tracer, Operand variable, std::string_view space) {
  const Reg address = tracer.reg(isa::Type::U64);
  tracer.emit("mov.u64", {address, variable});
  tracer.emit(concat("cvta.", space, ".u64"), {address, address});
  return address;
}

struct VprintfArgument {
  isa::Type type{};
  Operand value;
};

/// Arguments and results travel in .param variables of a block of their own.
void call(Tracer& tracer, Operand function, std::string_view stem,
          std::span<const VprintfArgument> arguments, std::optional<isa::Type> result) {
  tracer.open_block();
  const auto variable = [&](std::string_view name, isa::Type type) {
    ir::Variable declared;
    declared.space = ir::Space::Param;
    declared.type = type;
    return tracer.add_variable(std::move(declared), name);
  };
  std::vector<Operand> passed;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const auto& [type, value] = arguments[i];
    passed.push_back(variable(concat(stem, "_", i), type));
    tracer.emit(concat("st.param.", isa::info(type).name), {tracer.address(passed.back()), value});
  }
  std::vector<Operand> operands;
  if (result) {
    const Operand returned = variable(concat(stem, "_result"), *result);
    operands.push_back(tracer.parenthesized(std::span(&returned, 1)));
  }
  operands.push_back(function);
  operands.push_back(tracer.parenthesized(passed));
  tracer.emit("call.uni", operands);
  tracer.close_block();
}

/// The values in a .local buffer, each at a multiple of its size; its generic address, or 0.
Operand buffer_of(Tracer& tracer, std::span<const Reg> registers) {
  if (registers.empty()) return Operand::integer(0);
  std::uint64_t bytes = 0;
  std::vector<std::int64_t> offsets;
  for (const Reg& reg : registers) {
    const std::uint64_t size = bits(reg.type) / 8;
    bytes = (bytes + size - 1) / size * size;
    offsets.push_back(static_cast<std::int64_t>(bytes));
    bytes += size;
  }
  const Reg local = tracer.reg(isa::Type::U64);
  tracer.emit("mov.u64", {local, tracer.local_scratch(bytes)});
  for (std::size_t i = 0; i < registers.size(); ++i) {
    tracer.emit(concat("st.local.", isa::info(registers[i].type).name),
                {tracer.address(local, offsets[i]), registers[i]});
  }
  const Reg generic = tracer.reg(isa::Type::U64);
  tracer.emit("cvta.local.u64", {generic, local});
  return generic;
}

}  // namespace

void print(Tracer& tracer, std::string_view format, std::span<const Value> values, Guard guard) {
  const Expansion here(tracer, "ptx.printf(...)");
  const auto conversions = conversions_of(tracer, format);
  if (!conversions) return;
  if (conversions->size() != values.size()) {
    report_format(tracer,
                  concat("the format takes ", conversions->size(), " values, got ", values.size()));
    return;
  }
  std::optional<ir::LabelId> after;
  if (guard.predicate) {
    after = tracer.label("$L_printf");
    tracer.emit("bra", {Operand::label(*after)}, {*guard.predicate, !guard.negated});
  }
  std::vector<Reg> registers;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto reg = promoted(tracer, (*conversions)[i], values[i]);
    if (!reg || tracer.has_error()) return;
    registers.push_back(*reg);
  }
  const Operand buffer = buffer_of(tracer, registers);
  const Reg text = generic_address(tracer, tracer.text_constant(format), "global");
  constexpr std::array kParameters{isa::Type::B64, isa::Type::B64};
  constexpr std::array kResults{isa::Type::B32};
  const Operand function = tracer.declare_function("vprintf", kResults, kParameters);
  const std::array<VprintfArgument, 2> arguments{
      {{isa::Type::B64, text}, {isa::Type::B64, buffer}}};
  call(tracer, function, "vprintf", arguments, isa::Type::B32);
  if (after) tracer.place(*after);
}

void assert_that(Tracer& tracer, Guard condition, std::string_view message) {
  const Expansion here(tracer, "ptx.assert_(...)");
  if (!condition.predicate) {
    tracer.report({diag::Kind::GuardType, {"nothing"}});
    return;
  }
  const auto place = tracer.module().locations.resolve(tracer.loc());
  const std::string kernel(tracer.module().text(tracer.function().name));
  const ir::LabelId after = tracer.label("$L_assert");
  tracer.emit("bra", {Operand::label(after)}, condition);
  const auto text = [&](std::string_view words) {
    return Operand(generic_address(tracer, tracer.text_constant(words), "global"));
  };
  using isa::Type;
  const std::array<VprintfArgument, 5> arguments{
      {{Type::B64, text(message)},
       {Type::B64, text(place ? place->file : "?")},
       {Type::B32, Operand::integer(place ? place->line : 0)},
       {Type::B64, text(kernel)},
       {Type::B64, Operand::integer(1)}}};  // bytes of a character
  constexpr std::array kParameters{Type::B64, Type::B64, Type::B32, Type::B64, Type::B64};
  const Operand function = tracer.declare_function("__assertfail", {}, kParameters);
  call(tracer, function, "assertfail", arguments, std::nullopt);
  tracer.place(after);
}

}  // namespace pyptx::build
