// SPDX-License-Identifier: Apache-2.0
//
// Operands as 16-byte values. Composite operands (vectors, addresses, p|q) own a run of child
// operands in their function's pool; see Function::children.
#pragma once

#include <bit>
#include <cstdint>

#include "pyptx/isa/ids.h"
#include "pyptx/support/symbol.h"

namespace pyptx::ir {

enum class RegisterId : std::uint32_t {};
enum class LabelId : std::uint32_t {};

enum class OperandKind : std::uint8_t {
  None,
  Register,       // index: RegisterId; component: 1..4 for .x .y .z .w, 0 for none
  NotRegister,    // !p
  Special,        // index: isa::SpecialRegister; component as above
  Integer,        // value
  Float32,        // value: bits, printed 0fXXXXXXXX
  Float64,        // value: bits, printed 0dXXXXXXXXXXXXXXXX
  Symbol,         // index: support::Symbol; value: byte offset (sym+off)
  Label,          // index: LabelId
  Address,        // children: base, then what follows a comma; value: byte offset
  Vector,         // children: {a, b, ...}
  Parenthesized,  // children: (a, b, ...)
  Pipe,           // children: a|b
  Sink,           // _
};

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
  bool is_composite() const {
    return kind == OperandKind::Address || kind == OperandKind::Vector ||
           kind == OperandKind::Parenthesized || kind == OperandKind::Pipe;
  }
  bool operator==(const Operand&) const = default;
};
static_assert(sizeof(Operand) == 16);

}  // namespace pyptx::ir
