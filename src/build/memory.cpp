// SPDX-License-Identifier: Apache-2.0
//
// Loads, stores, parameters and special registers. See memory.h.
#include "pyptx/build/memory.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "arguments.h"
#include "pyptx/support/concat.h"
#include "types.h"

namespace pyptx::build {
namespace {

using support::concat;

/// [address] where the author gave a bare register or symbol.
ir::Operand bracketed(Tracer& tracer, ir::Operand address) {
  return address.kind == ir::OperandKind::Address ? address : tracer.address(address);
}

std::string access(std::string_view opcode, std::string_view space, std::string_view cache,
                   const ir::Operand& data, isa::Type type) {
  std::string text(opcode);
  const auto append = [&text](std::string_view part) {
    if (!part.empty()) text += concat(".", part);
  };
  append(space == "generic" ? std::string_view{} : space);
  append(cache);
  if (data.kind == ir::OperandKind::Vector) append(concat("v", data.count));
  append(isa::info(type).name);
  return text;
}

/// The type ld and st name: they know .bN, integers and f32/f64, not the 16-bit formats.
isa::Type access_type(isa::Type type) {
  const bool is_named = is_integer(type) || type == isa::Type::F32 || type == isa::Type::F64;
  if (is_named) return type;
  return bits(type) == 8 ? isa::Type::B8 : bit_type(type);
}

Reg fresh_or(Tracer& tracer, std::optional<Reg> destination, isa::Type type) {
  if (!destination) return tracer.reg(type);
  tracer.keep_newest();  // its author holds it
  return *destination;
}

}  // namespace

ir::Operand as_operand(const Value& value) {
  if (value.reg() != nullptr) return *value.reg();
  if (value.integer() != nullptr) return ir::Operand::integer(*value.integer());
  return ir::Operand::f64(*value.real());
}

Reg special(Tracer& tracer, isa::SpecialRegister which, std::uint8_t component) {
  const Reg result = tracer.reg(isa::info(which).type);
  const isa::Type named = move_type(result.type);
  tracer.emit(concat("mov.", isa::info(named).name),
              {result, ir::Operand::special(which, component)});
  return result;
}

std::optional<ir::Operand> special_operand(std::string_view name) {
  constexpr std::string_view kComponents = "xyzw";
  std::uint8_t component = 0;
  const auto dot = name.find('.');
  if (dot != std::string::npos && dot + 2 == name.size()) {
    component = static_cast<std::uint8_t>(kComponents.find(name.back()) + 1);
    name = name.substr(0, dot);
  }
  const auto which = isa::find_special_register(name);
  if (!which || isa::info(*which).is_vector != (component != 0)) return std::nullopt;
  return ir::Operand::special(*which, component);
}

Reg special(Tracer& tracer, std::string_view name) {
  const auto found = special_operand(support::concat(name.starts_with('%') ? "" : "%", name));
  if (!found) {
    tracer.report(diag::Diagnostic(diag::Kind::UnknownSpecial, {std::string(name)})
                      .about("name")
                      .suggest(name, isa::special_register_names()));
    return {};
  }
  return special(tracer, static_cast<isa::SpecialRegister>(found->index), found->component);
}

Reg param(Tracer& tracer, isa::Type type, std::string_view name, std::optional<Reg> destination) {
  const auto& parameters = tracer.function().parameters;
  const auto found = std::ranges::find_if(parameters, [&](const ir::Variable& parameter) {
    return tracer.module().text(parameter.name) == name;
  });
  if (found == parameters.end()) {
    std::vector<std::string> known;
    known.reserve(parameters.size());
    for (const ir::Variable& parameter : parameters) {
      known.emplace_back(tracer.module().text(parameter.name));
    }
    tracer.report(diag::Diagnostic(diag::Kind::UnknownParameter, {std::string(name)})
                      .about("name")
                      .suggest(name, known));
    return {};
  }
  // The assembler takes any width here, and reads the next parameter or the padding.
  if (bits(type) > found->size() * 8) {
    refuse(tracer, {concat("the type of parameter '", name, "'"), "dtype"},
           concat("at most ", found->size() * 8, " bits wide"), concat(".", isa::info(type).name));
    return {};
  }
  const Reg result = fresh_or(tracer, destination, type);
  load(tracer, type, result, tracer.symbol(name), "param");
  return result;
}

Reg global_pointer(Tracer& tracer, std::string_view name) {
  const Expansion here(tracer, "ptx.global_ptrs(...)");
  const Reg pointer = param(tracer, isa::Type::U64, name);
  if (tracer.has_error()) return pointer;
  tracer.note_pointer(pointer, name);
  return cvta_to_global(tracer, pointer, pointer);
}

Reg cvta_param(Tracer& tracer, ir::Operand source, std::optional<Reg> destination) {
  const Reg result = fresh_or(tracer, destination, isa::Type::U64);
  tracer.emit("cvta.param.u64", {result, source});
  return result;
}

Reg cvta_to_global(Tracer& tracer, ir::Operand source, std::optional<Reg> destination) {
  const Reg result = fresh_or(tracer, destination, isa::Type::U64);
  tracer.emit("cvta.to.global.u64", {result, source});
  return result;
}

void load(Tracer& tracer, isa::Type type, ir::Operand destination, ir::Operand address,
          std::string_view space, std::string_view cache, Guard guard) {
  const ir::Operand from = bracketed(tracer, address);
  tracer.emit(access("ld", space, cache, destination, access_type(type)), {destination, from},
              guard);
}

void store(Tracer& tracer, isa::Type type, ir::Operand address, ir::Operand source,
           std::string_view space, std::string_view cache, Guard guard) {
  const ir::Operand to = bracketed(tracer, address);
  tracer.emit(access("st", space, cache, source, access_type(type)), {to, source}, guard);
}

ir::Operand variable(Tracer& tracer, std::string_view space, isa::Type type, std::string_view name,
                     std::optional<std::uint64_t> count, std::uint32_t align,
                     std::string_view linkage) {
  constexpr std::array<std::pair<std::string_view, ir::Space>, 4> kSpaces{
      {{"shared", ir::Space::Shared},
       {"local", ir::Space::Local},
       {"global", ir::Space::Global},
       {"const", ir::Space::Const}}};
  constexpr std::array<std::pair<std::string_view, ir::Linkage>, 5> kLinkages{
      {{"", ir::Linkage::None},
       {"extern", ir::Linkage::Extern},
       {"visible", ir::Linkage::Visible},
       {"weak", ir::Linkage::Weak},
       {"common", ir::Linkage::Common}}};
  const auto place = std::ranges::find(kSpaces, space, [](const auto& p) { return p.first; });
  const auto link = std::ranges::find(kLinkages, linkage, [](const auto& p) { return p.first; });
  if (place == kSpaces.end() || link == kLinkages.end()) {
    if (place == kSpaces.end()) {
      refuse(tracer, {"the state space", "space"}, "shared, local, global or const",
             concat("'", space, "'"));
    } else {
      refuse(tracer, {"the linkage", "linking"}, "extern, visible, weak or common",
             concat("'", linkage, "'"));
    }
    return {};
  }
  if (align != 0 && !std::has_single_bit(align)) {
    refuse(tracer, {"the alignment of a variable", "align"}, "a power of two",
           std::to_string(align));
    return {};
  }
  ir::Variable declared;
  declared.space = place->second;
  declared.linkage = link->second;
  declared.type = type;
  declared.align = align;
  declared.count = count;
  return tracer.add_variable(std::move(declared), name);
}

}  // namespace pyptx::build
