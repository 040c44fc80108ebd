// SPDX-License-Identifier: Apache-2.0
//
// Registers, variables and parameters as data. Layout in memory is told here (size, alignment);
// whether a declaration is legal is verify's. PTX ISA, chapter 5 (State Spaces, Types, and
// Variables).
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "pyptx/diag/loc.h"
#include "pyptx/isa/type.h"
#include "pyptx/support/symbol.h"

namespace pyptx::ir {

using support::Symbol;

/// A register. One of a pool is called by the prefix of the pool and its number: the name is put
/// together where it is shown (Module::name), since a large function has very many of them.
struct Register {
  Symbol stem{};             // the name, or the prefix of the pool
  isa::Type type{};          // what the author said; signedness matters to build, not to ptxas
  isa::Type declared{};      // what .reg says: pooled registers are declared by width (.b32, .f32)
  bool pooled = false;       // part of `.reg .type prefix<count>;`
  std::uint8_t vector = 0;   // 2, 4: .reg .v2 .v4
  std::uint32_t number = 0;  // of a pooled one
};

/// A run of numbered registers declared at once: .reg .b32 %r<12>;
struct RegisterPool {
  Symbol prefix{};
  isa::Type declared{};
  std::uint32_t count = 0;
  std::uint8_t vector = 0;  // 2, 4: .reg .v2 .v4
  /// Declared by a statement of the body (StatementKind::Pool), so that it may belong to a nested
  /// block; otherwise declared at the top of the function.
  bool placed = false;
};

/// State spaces.
enum class Space : std::uint8_t { Register, Const, Global, Local, Param, Shared };
/// Who sees a name.
enum class Linkage : std::uint8_t { None, Extern, Visible, Weak, Common };

/// What a kernel parameter says about the pointer it holds: .ptr .global .align 16
struct PointerAttribute {
  std::optional<Space> space;  // nullopt: generic
  std::uint32_t align = 0;     // 0: not stated
  bool operator==(const PointerAttribute&) const = default;
};

/// .attribute(.managed, .unified(1, 2)). PTX ISA, section 5.4.8.
struct Attributes {
  bool managed = false;
  std::optional<std::pair<std::uint64_t, std::uint64_t>> unified;
  bool operator==(const Attributes&) const = default;
  bool any() const { return managed || unified.has_value(); }
};

/// One element of an initialiser as it is written: values, and the braces that group them.
struct InitialValue {
  enum class Kind : std::uint8_t {
    Bits,     // value: an integer, or the bits of a floating-point value of the variable's type
    Address,  // symbol + value
    Generic,  // generic(symbol) + value
    Open,     // {
    Close,    // }
  };
  Kind kind = Kind::Bits;
  /// 1..8: only this byte of the address, written as a mask: 0xff00(symbol) is byte 2.
  std::uint8_t byte = 0;
  Symbol symbol{};
  std::int64_t value = 0;

  static InitialValue bits(std::int64_t value) { return {Kind::Bits, 0, {}, value}; }
  bool is_address() const { return kind == Kind::Address || kind == Kind::Generic; }
  bool is_brace() const { return kind == Kind::Open || kind == Kind::Close; }
  bool operator==(const InitialValue&) const = default;
};
static_assert(sizeof(InitialValue) == 16);

/// A property of an opaque variable: filter_mode = linear, width = 4
struct Property {
  Symbol name{};
  Symbol word{};  // None: the value is a number
  std::int64_t number = 0;
  bool operator==(const Property&) const = default;
};

/// A variable or parameter: .shared .align 128 .b8 tile[4096];
struct Variable {
  Symbol name{};
  Space space = Space::Global;
  Linkage linkage = Linkage::None;
  isa::Type type{};
  std::uint8_t vector = 0;  // 2, 4: .v2 .v4
  std::uint32_t align = 0;  // 0: the type's own
  /// Elements; nullopt for a scalar, 0 for `name[]`.
  std::optional<std::uint64_t> count;
  /// As written, braces included; empty: none.
  std::vector<InitialValue> initializer;
  diag::Loc loc{};
  /// When set, this stands for name0 .. name(run-1), declared at once as name<run>.
  std::optional<std::uint32_t> run;
  /// The extents of an array of two or more dimensions, whose product is `count`; else empty.
  std::vector<std::uint64_t> dimensions;
  std::optional<PointerAttribute> pointer;  // parameters only
  Attributes attributes;
  /// What stands in the braces of a .texref, .samplerref or .surfref.
  std::vector<Property> properties;
  bool has_properties = false;

  /// Bytes it occupies (0 for `name[]`), at most kGreatestSize: 2^20 of them fit 64 bits.
  static constexpr std::uint64_t kGreatestSize = std::uint64_t{1} << 43;
  std::uint64_t size() const;
  std::uint32_t alignment() const;
};

}  // namespace pyptx::ir
