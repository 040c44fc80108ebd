// SPDX-License-Identifier: Apache-2.0
//
// Facts about PTX types (PTX ISA, "Types"): generated ids, hand-written access.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pyptx/isa/id.h"
#include "pyptx/isa/target.h"

namespace pyptx::isa {

enum class TypeKind : std::uint8_t { None, Bits, Unsigned, Signed, Float, Predicate, Opaque };

struct TypeInfo {
  std::string_view name;  // without the dot: "f32"
  std::uint16_t bits = 0;
  TypeKind kind = TypeKind::None;
  /// May stand in a .reg declaration (.bf16 and the fp8 types may not).
  bool is_register = false;
  /// The register type that holds it: itself, or the .bN of its width.
  Type storage = Type::None;
};

const TypeInfo& info(Type type);
std::optional<Type> find_type(std::string_view name);
/// The type a modifier such as .f32 names.
std::optional<Type> type_of(Modifier modifier);

struct SpecialRegisterInfo {
  std::string_view name;  // "%tid"
  Type type = Type::None;
  bool is_vector = false;  // has .x .y .z components
  /// The sizes in bytes by which it may be read, one bit each: 2, 4, 8.
  std::uint8_t sizes = 0;
  bool has_size(unsigned bits) const { return (sizes & (bits / 8)) != 0; }
};
const SpecialRegisterInfo& info(SpecialRegister reg);
Availability needs(SpecialRegister reg);
/// "%tid" (without component).
std::optional<SpecialRegister> find_special_register(std::string_view name);
/// Every one as an instruction names it: "%laneid", "%tid.x".
std::vector<std::string> special_register_names();

}  // namespace pyptx::isa
