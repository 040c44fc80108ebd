// SPDX-License-Identifier: Apache-2.0
//
// Operands as 16-byte values. Composite operands (vectors, addresses, p|q) own a run of child
// operands in their function's pool; see Function::children.
#pragma once

#include <bit>
#include <cstdint>
#include <optional>

#include "pyptx/isa/id.h"
#include "pyptx/support/symbol.h"

namespace pyptx::ir {

/// A register, by its index in its function.
enum class RegisterId : std::uint32_t {};
/// A label, by its index in its function.
enum class LabelId : std::uint32_t {};

/// A register or none, in the four bytes of a register.
class OptionalRegister {
 public:
  OptionalRegister() = default;
  OptionalRegister(RegisterId id) : id_(id) {}    // NOLINT(*-explicit-*)
  OptionalRegister(std::optional<RegisterId> id)  // NOLINT(*-explicit-*)
      : id_(id.value_or(kNone)) {}
  explicit operator bool() const { return id_ != kNone; }
  RegisterId operator*() const { return id_; }
  bool operator==(const OptionalRegister&) const = default;

 private:
  static constexpr auto kNone = static_cast<RegisterId>(UINT32_MAX);
  RegisterId id_ = kNone;
};

/// What an operand is.
enum class OperandKind : std::uint8_t {
  None,
  Register,       // index: RegisterId; component: 1..4 for .x .y .z .w, 0 for none, kVideoSelector
  NotRegister,    // !p
  Special,        // index: isa::SpecialRegister; component as above
  Integer,        // value
  Float32,        // value: bits, printed 0fXXXXXXXX
  Float64,        // value: bits, printed 0dXXXXXXXXXXXXXXXX
  Symbol,         // index: support::Symbol; value: byte offset (sym+off); component: see below
  Label,          // index: LabelId
  Address,        // children: base, then what follows a comma; value: byte offset; component
  Vector,         // children: {a, b, ...}
  Parenthesized,  // children: (a, b, ...)
  Pipe,           // children: a|b
  Sink,           // _
  // A register with a minus before it, as in vmad: index and component as for Register.
  NegatedRegister,
  // A name that nothing declares, in an unresolved instruction: index: support::Symbol; component:
  // see below; value: the offset or index behind it, or the characters of a selector.
  Undeclared,
};

/// Register and NegatedRegister: a video selector follows (r.b0, r.h1, r.b7610); `value` holds its
/// characters after the dot, the first in the lowest byte.
inline constexpr std::uint8_t kVideoSelector = 5;
/// Address, a bit: [a].unified.
inline constexpr std::uint8_t kUnified = 1;
/// Address and Symbol, a bit: an offset of zero was written, [a+0]. It means what [a] means, but
/// without optimisation (-O0) ptxas makes other machine code of it.
inline constexpr std::uint8_t kZeroOffset = 0x80;
/// Symbol: what it names where it stands, since names are scoped: this plus the Space of a
/// variable, or kFunctionComponent. 0 where nobody has looked (authored code).
inline constexpr std::uint8_t kSpaceComponent = 1;
inline constexpr std::uint8_t kFunctionComponent = 16;
/// Undeclared: the component that a register would have, and how the name was written: !name, -name
/// and name[value]; name+0 has kZeroOffset.
inline constexpr std::uint8_t kSelectorBits = 7;
inline constexpr std::uint8_t kNotName = 0x10;
inline constexpr std::uint8_t kMinusName = 0x20;
inline constexpr std::uint8_t kIndexedName = 0x40;

/// One operand.
struct Operand {
  OperandKind kind = OperandKind::None;
  std::uint8_t component = 0;
  std::uint16_t count = 0;  // children
  std::uint32_t index = 0;  // see OperandKind; for composites the first child
  std::int64_t value = 0;

  static Operand reg(RegisterId id) {
    return {OperandKind::Register, 0, 0, static_cast<std::uint32_t>(id), 0};
  }
  static Operand not_reg(RegisterId id) {
    return {OperandKind::NotRegister, 0, 0, static_cast<std::uint32_t>(id), 0};
  }
  static Operand negated_reg(RegisterId id) {
    return {OperandKind::NegatedRegister, 0, 0, static_cast<std::uint32_t>(id), 0};
  }
  /// component: 0 none, 1 .x, 2 .y, 3 .z
  static Operand special(isa::SpecialRegister id, std::uint8_t component) {
    return {OperandKind::Special, component, 0, static_cast<std::uint32_t>(id), 0};
  }
  static Operand integer(std::int64_t value) { return {OperandKind::Integer, 0, 0, 0, value}; }
  static Operand f32(float value) {
    return {OperandKind::Float32, 0, 0, 0, std::bit_cast<std::int32_t>(value)};
  }
  static Operand f64(double value) {
    return {OperandKind::Float64, 0, 0, 0, std::bit_cast<std::int64_t>(value)};
  }
  static Operand symbol(support::Symbol name, std::int64_t offset = 0) {
    return {OperandKind::Symbol, 0, 0, static_cast<std::uint32_t>(name), offset};
  }
  static Operand label(LabelId id) {
    return {OperandKind::Label, 0, 0, static_cast<std::uint32_t>(id), 0};
  }
  static Operand sink() { return {OperandKind::Sink, 0, 0, 0, 0}; }

  RegisterId register_id() const { return static_cast<RegisterId>(index); }
  bool is_register() const {
    return kind == OperandKind::Register || kind == OperandKind::NotRegister ||
           kind == OperandKind::NegatedRegister;
  }
  bool is_composite() const {
    return kind == OperandKind::Address || kind == OperandKind::Vector ||
           kind == OperandKind::Parenthesized || kind == OperandKind::Pipe;
  }
  bool operator==(const Operand&) const = default;
};
static_assert(sizeof(Operand) == 16);

}  // namespace pyptx::ir
