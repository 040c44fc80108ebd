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

/// What the bits of a type mean.
enum class TypeKind : std::uint8_t { None, Bits, Unsigned, Signed, Float, Predicate, Opaque };

/// What the table says of a type.
struct TypeInfo {
  std::string_view name;  // without the dot: "f32"
  std::uint16_t bits = 0;
  TypeKind kind = TypeKind::None;
  /// May stand in a .reg declaration (.bf16 and the fp8 types may not).
  bool is_register = false;
  /// The register type that holds it: itself, or the .bN of its width.
  Type storage = Type::None;
};

/// The row of a type.
const TypeInfo& info(Type type);

/// A type as the element of a tensor in memory.
struct ElementInfo {
  std::uint16_t bits = 0;  // they are packed: 4 of e2m1, 8 of a pred
  /// What torch, JAX and NumPy call it; empty where they have no such elements.
  std::string_view framework;
  std::uint8_t dlpack_code = 0;  // of those with such a name
  std::uint8_t lanes = 1;        // that are packed into one
  /// The elements of a new array for it: itself, .u32 for .b32; None: there is none.
  Type stored = Type::None;
  /// What a tensor map over such elements is made with; None: there is none.
  Type map = Type::None;
};
const ElementInfo& element(Type type);
std::optional<Type> find_type(std::string_view name);
/// The type a modifier such as .f32 names.
std::optional<Type> type_of(Modifier modifier);

/// How the emulator gives the value of a special register: not at all, the same to all lanes of a
/// warp, another to each, or other while the warp runs.
enum class Emulated : std::uint8_t { No, Warp, Lane, Clock };

/// What the table says of a special register.
struct SpecialRegisterInfo {
  std::string_view name;  // "%tid"
  Type type = Type::None;
  bool is_vector = false;  // has .x .y .z components
  /// The sizes in bytes by which it may be read, one bit each: 2, 4, 8.
  std::uint8_t sizes = 0;
  Emulated emulated = Emulated::No;
  bool has_size(unsigned bits) const { return (sizes & (bits / 8)) != 0; }
};
const SpecialRegisterInfo& info(SpecialRegister reg);
Availability needs(SpecialRegister reg);
/// "%tid" (without component).
std::optional<SpecialRegister> find_special_register(std::string_view name);
/// Every one as an instruction names it: "%laneid", "%tid.x".
std::vector<std::string> special_register_names();

}  // namespace pyptx::isa
