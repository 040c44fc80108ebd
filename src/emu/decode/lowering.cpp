// SPDX-License-Identifier: Apache-2.0
//
// Modifiers and operands of one instruction under decode. See lowering.h.
#include "decode/lowering.h"

#include <algorithm>
#include <bit>

#include "numerics/convert.h"
#include "pyptx/isa/spelling.h"

namespace pyptx::emu {
namespace {

/// A literal as the bits of `type`.
u64 literal_bits(const ir::Operand& operand, Ty type) {
  if (operand.kind == ir::OperandKind::Integer) return static_cast<u64>(operand.value);
  const bool is_double = operand.kind == ir::OperandKind::Float64;
  const u64 bits = static_cast<u64>(operand.value);
  if (!is_float(type) || type == Ty::F32x2) return is_double ? bits : bits & 0xFFFFFFFFU;
  const double value = is_double
                           ? std::bit_cast<double>(bits)
                           : static_cast<double>(std::bit_cast<float>(static_cast<u32>(bits)));
  switch (type) {
    case Ty::F64:
      return std::bit_cast<u64>(value);
    case Ty::F16:
      return narrow(value, kF16, Round::Nearest);
    case Ty::Bf16:
      return narrow(value, kBF16, Round::Nearest);
    default:
      return is_double ? narrow(value, kF32, Round::Nearest) : bits & 0xFFFFFFFFU;
  }
}

}  // namespace

Lowering::Lowering(Program& program, Layout& layout, const ir::Instruction& instruction,
                   std::span<const u32> label_targets)
    : program_(program),
      layout_(layout),
      instruction_(instruction),
      label_targets_(label_targets),
      operands_(program.function->operands_of(instruction)) {
  for (const isa::Modifier modifier : instruction.spelling->modifiers) {
    modifiers_.push_back(isa::text(modifier));
  }
  used_.resize(modifiers_.size());
}

const ir::Operand& Lowering::operand(std::size_t i) {
  static const ir::Operand kMissing{};
  if (i < operands_.size()) return operands_[i];
  refuse("an operand is missing");
  return kMissing;
}

const ir::Operand& Lowering::child(const ir::Operand& operand, std::size_t i) {
  const auto parts = children(operand);
  return i < parts.size() ? parts[i] : this->operand(operands_.size());
}

bool Lowering::take(std::string_view modifier) {
  for (std::size_t i = 0; i < modifiers_.size(); ++i) {
    if (!used_[i] && modifiers_[i] == modifier) {
      used_[i] = true;
      return true;
    }
  }
  return false;
}

bool Lowering::has(std::string_view modifier) const {
  return std::ranges::find(modifiers_, modifier) != modifiers_.end();
}

bool Lowering::is_word(std::string_view word) {
  if (take(word)) return true;
  std::string_view rest = isa::text(instruction_.spelling->opcode);
  while (!rest.empty()) {
    const std::size_t dot = rest.find('.');
    if (rest.substr(0, dot) == word) return true;
    if (dot == std::string_view::npos) break;
    rest.remove_prefix(dot + 1);
  }
  return false;
}

bool Lowering::is_opcode(std::string_view word) const {
  const std::string_view opcode = isa::text(instruction_.spelling->opcode);
  return opcode.substr(0, opcode.find('.')) == word;
}

std::string_view Lowering::take_any(std::initializer_list<std::string_view> modifiers) {
  for (const std::string_view modifier : modifiers) {
    if (take(modifier)) return modifier;
  }
  return {};
}

std::string_view Lowering::take_next(std::initializer_list<std::string_view> modifiers) {
  for (std::size_t i = 0; i < modifiers_.size(); ++i) {
    if (used_[i] || std::ranges::find(modifiers, modifiers_[i]) == modifiers.end()) continue;
    used_[i] = true;
    return modifiers_[i];
  }
  return {};
}

void Lowering::ignore(std::initializer_list<std::string_view> modifiers) {
  for (const std::string_view modifier : modifiers) take(modifier);
}

void Lowering::ignore_prefix(std::string_view prefix) {
  for (std::size_t i = 0; i < modifiers_.size(); ++i) {
    if (modifiers_[i].starts_with(prefix)) used_[i] = true;
  }
}

Ty Lowering::take_type() {
  for (std::size_t i = 0; i < modifiers_.size(); ++i) {
    if (used_[i]) continue;
    const auto type = isa::find_type(modifiers_[i]);
    if (!type) continue;
    used_[i] = true;
    return *type;
  }
  return Ty::None;
}

Round Lowering::take_rounding(Round otherwise) {
  const std::string_view mode = take_any({"rn", "rz", "rm", "rp", "rna"});
  if (mode.empty()) return otherwise;
  if (mode == "rn") return Round::Nearest;
  if (mode == "rz") return Round::Zero;
  if (mode == "rm") return Round::Down;
  return mode == "rp" ? Round::Up : Round::NearestAway;
}

std::string_view Lowering::leftover() const {
  for (std::size_t i = 0; i < modifiers_.size(); ++i) {
    if (!used_[i]) return modifiers_[i];
  }
  return {};
}

std::span<const ir::Operand> Lowering::children(const ir::Operand& operand) const {
  return program_.function->children(operand);
}

const ir::Operand& Lowering::bare(const ir::Operand& operand) const {
  return operand.kind == ir::OperandKind::Vector && operand.count == 1 ? children(operand)[0]
                                                                       : operand;
}

u32 Lowering::bits_of(const ir::Operand& given) const {
  const ir::Operand& operand = bare(given);
  return operand.kind == ir::OperandKind::Register ? layout_.register_bits(operand.register_id())
                                                   : 0;
}

u32 Lowering::symbol_lanes(const ir::Operand& operand, Ty type) {
  const auto name = static_cast<ir::Symbol>(operand.index);
  if (const ParamPlace* parameter = layout_.parameter(name)) {
    const u64 at = kParamWindow + parameter->offset + static_cast<u64>(operand.value);
    return layout_.literal(lane_bytes(info(type).bits), at);
  }
  const PlacedVariable* place = layout_.variable(name);
  if (place == nullptr) {
    refuse("its operand names something that has no address here");
    return layout_.literal(8, 0);
  }
  const u64 address = place->offset + static_cast<u64>(operand.value);
  const u32 bytes = lane_bytes(info(type).bits);
  switch (place->space) {
    case Space::Shared:
      // The rank of the CTA is part of the address: a special register with an offset.
      return layout_.base(Fixed::What::SharedBase, static_cast<u32>(address), bytes);
    case Space::Local:
      return layout_.literal(bytes, address);
    default:  // global and const variables get their address when the grid starts
      return layout_.base(
          place->space == Space::Const ? Fixed::What::ConstBase : Fixed::What::GlobalBase, address,
          bytes);
  }
}

u32 Lowering::source(const ir::Operand& operand, Ty type) {
  u8 bytes = 0;
  const u32 offset = source_any(operand, type, bytes);
  if (bytes != lane_bytes(info(type).bits)) refuse("an operand has another width than its type");
  return offset;
}

u32 Lowering::source_any(const ir::Operand& given, Ty type, u8& bytes) {
  const ir::Operand& operand = bare(given);
  bytes = static_cast<u8>(lane_bytes(info(type).bits));
  switch (operand.kind) {
    case ir::OperandKind::Register:
      bytes = static_cast<u8>(lane_bytes(layout_.register_bits(operand.register_id())));
      if (bytes == 0 && type != Ty::Pred) refuse("an operand is a predicate");
      return layout_.register_offset(operand.register_id());
    case ir::OperandKind::Integer:
    case ir::OperandKind::Float32:
    case ir::OperandKind::Float64: {
      u64 bits = literal_bits(operand, type);
      if (bytes > 8) refuse("a literal of 128 bits cannot run");
      if (info(type).bits < 64) bits &= (1ULL << info(type).bits) - 1;
      return layout_.literal(bytes, bits);
    }
    case ir::OperandKind::Special: {
      const auto special = static_cast<isa::SpecialRegister>(operand.index);
      const isa::Emulated emulated = isa::info(special).emulated;
      const bool has_value = emulated == isa::Emulated::Warp || emulated == isa::Emulated::Lane;
      if (!has_value || bytes == 0 || bytes > 8) {
        refuse("the special register " + std::string(isa::info(special).name) +
               " is not available as this operand");
      }
      const u32 component = operand.component == 0 ? 0U : operand.component - 1U;
      return layout_.special(special, component, bytes);
    }
    case ir::OperandKind::Symbol:
      return symbol_lanes(operand, type);
    default:
      refuse("an operand of this kind is not known");
      return layout_.literal(bytes, 0);
  }
}

u32 Lowering::dest(const ir::Operand& given, Ty type) {
  const ir::Operand& operand = bare(given);
  if (operand.kind == ir::OperandKind::Sink) return layout_.sink();
  if (operand.kind != ir::OperandKind::Register) {
    refuse("the destination is not a register");
    return layout_.sink();
  }
  if (lane_bytes(layout_.register_bits(operand.register_id())) != lane_bytes(info(type).bits)) {
    refuse("the destination has another width than its type");
  }
  return layout_.register_offset(operand.register_id());
}

u32 Lowering::predicate(const ir::Operand& given, bool& negated) {
  const ir::Operand& operand = bare(given);
  negated = operand.kind == ir::OperandKind::NotRegister;
  if (negated || operand.kind == ir::OperandKind::Register) {
    return layout_.register_offset(operand.register_id());
  }
  if (operand.kind == ir::OperandKind::Integer) {
    return layout_.literal(0, operand.value != 0 ? kAllLanes : 0);
  }
  refuse("an operand is not a predicate");
  return layout_.literal(0, 0);
}

u32 Lowering::predicate_dest(const ir::Operand& given) {
  const ir::Operand& operand = bare(given);
  if (operand.kind == ir::OperandKind::Register) {
    return layout_.register_offset(operand.register_id());
  }
  if (operand.kind != ir::OperandKind::Sink) refuse("the destination is not a predicate");
  return layout_.sink();
}

AddressOperand Lowering::address(const ir::Operand& operand) {
  AddressOperand result;
  ir::Operand base = operand;
  if (operand.kind == ir::OperandKind::Address) {
    const auto parts = children(operand);
    result.offset = operand.value;
    if (parts.empty()) {
      refuse("its address is empty");
      return result;
    }
    base = parts[0];
  }
  if (base.kind == ir::OperandKind::Symbol) {
    const auto name = static_cast<ir::Symbol>(base.index);
    if (layout_.parameter(name) != nullptr) {
      result.symbol_space = Space::Param;
    } else if (const PlacedVariable* place = layout_.variable(name)) {
      result.symbol_space = place->space;
    }
    // A shared symbol's address fits 32 bits; everything else is a 64-bit address.
    result.base_bytes = result.symbol_space == Space::Shared ? 4 : 8;
    result.base = symbol_lanes(base, result.base_bytes == 4 ? Ty::B32 : Ty::B64);
    return result;
  }
  result.base = source_any(base, Ty::B64, result.base_bytes);
  if (result.base_bytes != 4 && result.base_bytes != 8) refuse("its address has 32 or 64 bits");
  return result;
}

std::optional<i64> Lowering::literal(const ir::Operand& operand) const {
  const ir::Operand& value = bare(operand);
  if (value.kind != ir::OperandKind::Integer) return std::nullopt;
  return value.value;
}

u32 Lowering::label(const ir::Operand& operand) const {
  if (operand.kind != ir::OperandKind::Label || operand.index >= label_targets_.size()) return ~0U;
  return label_targets_[operand.index];
}

std::vector<u32> Lowering::branch_targets(const ir::Operand& list) const {
  std::vector<u32> targets;
  for (const ir::LabelId label : layout_.branch_targets(list.index)) {
    const u32 target = label_targets_[static_cast<u32>(label)];
    if (target == ~0U) return {};  // declared nowhere in this function
    targets.push_back(target);
  }
  return targets;
}

const PlacedVariable* Lowering::call_parameter(const ir::Operand& operand) const {
  if (operand.kind != ir::OperandKind::Symbol) return nullptr;
  const PlacedVariable* place = layout_.variable(static_cast<ir::Symbol>(operand.index));
  return place != nullptr && place->space == Space::Local ? place : nullptr;
}

void Lowering::set_list(std::span<const u32> offsets) {
  if (offsets.size() > 0xFFFFU) refuse("it has more than 65535 operands or targets");
  out.list = static_cast<u32>(program_.lists.size());
  out.list_count = static_cast<u16>(offsets.size());
  program_.lists.insert(program_.lists.end(), offsets.begin(), offsets.end());
}

Handler Lowering::refuse(std::string reason) {
  if (reason_.empty()) reason_ = std::move(reason);
  return nullptr;
}

void set_address(Lowering& low, const AddressOperand& address, Space space) {
  low.out.a = address.base;
  low.out.kind2 = address.base_bytes;
  low.out.imm = address.offset;
  low.out.space = space;
  if (space == Space::Generic && address.symbol_space == Space::Param) low.out.space = Space::Param;
  // What is passed to a call is declared in the body, and lies in local memory.
  if (space == Space::Param && address.symbol_space == Space::Local) low.out.space = Space::Local;
}

u32 order_of(const Lowering& low, std::string_view semantics) {
  const Semantics what = semantics == "acquire"   ? Semantics::Acquire
                         : semantics == "release" ? Semantics::Release
                         : semantics == "acq_rel" ? Semantics::AcquireRelease
                                                  : Semantics::Relaxed;
  const Scope scope = low.has("cta")       ? Scope::Cta
                      : low.has("cluster") ? Scope::Cluster
                                           : Scope::Gpu;
  return static_cast<u32>(what) | static_cast<u32>(scope) << 4;
}

Space take_space(Lowering& low) {
  const std::string_view space = low.take_any({"global", "shared::cta", "shared::cluster", "shared",
                                               "local", "param", "param::entry", "const"});
  if (space == "global") return Space::Global;
  if (space == "shared::cluster") return Space::SharedCluster;
  if (space.starts_with("shared")) return Space::Shared;
  if (space == "local") return Space::Local;
  if (space.starts_with("param")) return Space::Param;
  return space == "const" ? Space::Const : Space::Generic;
}

}  // namespace pyptx::emu
