// SPDX-License-Identifier: Apache-2.0
//
// Access to the generated types and special registers (PTX ISA, "Types", "Special Registers").
#include "pyptx/isa/type.h"

#include <unordered_map>

#include "tables.h"

namespace pyptx::isa {
namespace {

/// Position of each name in a generated array; 0 (None) is left out.
template <typename Id, typename Names>
std::unordered_map<std::string_view, Id> by_name(std::size_t count, Names name) {
  std::unordered_map<std::string_view, Id> map;
  for (std::size_t i = 1; i < count; ++i) map.emplace(name(i), static_cast<Id>(i));
  return map;
}

template <typename Id>
std::optional<Id> lookup(const std::unordered_map<std::string_view, Id>& map,
                         std::string_view name) {
  const auto found = map.find(name);
  if (found == map.end()) return std::nullopt;
  return found->second;
}

}  // namespace

const TypeInfo& info(Type type) { return tables::kTypes[static_cast<std::size_t>(type)]; }

std::optional<Type> find_type(std::string_view name) {
  static const auto map =
      by_name<Type>(tables::kTypes.size(), [](std::size_t i) { return tables::kTypes[i].name; });
  return lookup(map, name);
}

const ElementInfo& element(Type type) { return tables::kElements[static_cast<std::size_t>(type)]; }

std::optional<Type> type_of(Modifier modifier) {
  const Type type = tables::kModifierTypes[static_cast<std::size_t>(modifier)];
  if (type == Type::None) return std::nullopt;
  return type;
}

const SpecialRegisterInfo& info(SpecialRegister reg) {
  return tables::kSpecials[static_cast<std::size_t>(reg)].info;
}

Availability needs(SpecialRegister reg) {
  return tables::availability(tables::kSpecials[static_cast<std::size_t>(reg)].needs);
}

std::optional<SpecialRegister> find_special_register(std::string_view name) {
  static const auto map = by_name<SpecialRegister>(
      tables::kSpecials.size(), [](std::size_t i) { return tables::kSpecials[i].info.name; });
  return lookup(map, name);
}

std::vector<std::string> special_register_names() {
  std::vector<std::string> names;
  for (const auto& special : tables::kSpecials.subspan(1)) {
    const std::string name(special.info.name);
    if (!special.info.is_vector) {
      names.push_back(name);
      continue;
    }
    for (const char* component : {".x", ".y", ".z"}) names.push_back(name + component);
  }
  return names;
}

std::string_view text(Opcode opcode) { return tables::kOpcodes[static_cast<std::size_t>(opcode)]; }

std::string_view text(Modifier modifier) {
  return tables::kModifiers[static_cast<std::size_t>(modifier)];
}

std::optional<Opcode> find_opcode(std::string_view name) {
  static const auto map =
      by_name<Opcode>(tables::kOpcodes.size(), [](std::size_t i) { return tables::kOpcodes[i]; });
  return lookup(map, name);
}

std::optional<Modifier> find_modifier(std::string_view name) {
  static const auto map = by_name<Modifier>(tables::kModifiers.size(),
                                            [](std::size_t i) { return tables::kModifiers[i]; });
  return lookup(map, name);
}

}  // namespace pyptx::isa
