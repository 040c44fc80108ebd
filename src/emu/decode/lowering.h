// SPDX-License-Identifier: Apache-2.0
//
// One instruction on its way from ir to Inst. A selector (one per `sem` of the table, see
// select.h) consumes the modifiers it knows, asks for its operands and returns the handler. A
// modifier that nobody consumed makes the instruction one that cannot run: nothing is ignored in
// silence.
#pragma once

#include <initializer_list>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "decode/program.h"
#include "decode/types.h"

namespace pyptx::emu {

/// Register file layout and variable placement of the entry under decode.
class Layout {
 public:
  Layout(Program& program, const ir::Module& module, const ir::Function& function);

  u32 register_offset(ir::RegisterId id) const { return offsets_[static_cast<u32>(id)]; }
  u32 register_bits(ir::RegisterId id) const;
  std::vector<RegisterPlace> register_places() const;
  u32 literal(u32 lane_bytes, u64 bits);
  u32 special(isa::SpecialRegister reg, u64 component, u32 lane_bytes);
  u32 base(Fixed::What what, u64 offset, u32 lane_bytes);
  /// Scratch lanes for `_`.
  u32 sink();
  const PlacedVariable* variable(ir::Symbol name) const;
  const ParamPlace* parameter(ir::Symbol name) const;
  /// The labels of the .branchtargets list that the label `list` names; empty: there is none.
  std::span<const ir::LabelId> branch_targets(u32 list);
  u64 register_file_bytes() const { return next_; }
  /// What of it no target has, or nothing: asked before an offset is used.
  std::optional<diag::Diagnostic> problem() const;

 private:
  u32 take(u32 bytes);
  void put(PlacedVariable& place, u64& total, u64 base);
  void place_variable(const ir::Variable& variable);
  /// Whether an instruction of the entry does: ptxas gives no shared memory to what none names.
  bool names(ir::Symbol name);
  u32 fixed(Fixed::What what, isa::SpecialRegister reg, u64 component, u32 lane_bytes);
  void place_parameters();
  void leave_gap(u64 align);
  void place_dynamic_shared();

  Program& program_;
  const ir::Module& module_;
  const ir::Function& function_;
  std::vector<u32> offsets_;
  std::map<std::pair<u32, u64>, u32> literals_;  // by lane bytes and bits
  /// By lane bytes and component, or offset.
  std::map<std::tuple<Fixed::What, isa::SpecialRegister, u32, u64>, u32> specials_;
  std::unordered_map<u32, std::size_t> variables_;
  std::unordered_map<u32, std::size_t> parameters_;
  /// The room that all .param variables of one name need.
  struct CallSlot {
    u64 bytes = 0;
    u32 align = 0;
  };
  std::unordered_map<u32, CallSlot> call_slots_;
  std::unordered_map<u32, u32> branch_lists_;  // by the label before them
  bool knows_branch_lists_ = false;
  u64 next_ = 0;
  u64 shared_gap_ = 0;  // bytes to leave free behind the last variable of shared memory
  u64 gap_bytes_ = 0;   // of all gaps
  u64 param_bytes_ = 0;
  std::optional<u32> sink_;
  std::optional<std::unordered_set<u32>> named_;  // symbols
};

struct AddressOperand {
  u32 base = 0;  // offset of the base register (or literal)
  u8 base_bytes = 8;
  i64 offset = 0;
  std::optional<Space> symbol_space;  // where the base is a variable
};

class Lowering {
 public:
  Lowering(Program& program, Layout& layout, const ir::Instruction& instruction,
           std::span<const u32> label_targets);

  Inst out;
  MemoryAccess access;  // filled by instructions that load and store

  // --- modifiers -----------------------------------------------------------------------------
  /// Consumes the modifier if it is there.
  bool take(std::string_view modifier);
  /// Consumes whichever of them is there; empty when none is.
  std::string_view take_any(std::initializer_list<std::string_view> modifiers);
  /// Consumes the first modifier of the text that is one of them; empty when none is.
  std::string_view take_next(std::initializer_list<std::string_view> modifiers);
  /// Consumes modifiers that change nothing that can be seen here: cache hints and the like.
  void ignore(std::initializer_list<std::string_view> modifiers);
  void ignore_prefix(std::string_view prefix);
  /// Consumes the next type modifier.
  Ty take_type();
  Round take_rounding(Round otherwise);
  std::string_view leftover() const;
  bool has(std::string_view modifier) const;
  /// A word of the opcode or a modifier, wherever the table puts it ("mbarrier.arrive.expect_tx");
  /// consumed where it is a modifier.
  bool is_word(std::string_view word);
  /// The first word of the instruction.
  bool is_opcode(std::string_view word) const;

  // --- operands ------------------------------------------------------------------------------
  std::size_t count() const { return operands_.size(); }
  /// One that is not there is refused, whatever is asked of it.
  const ir::Operand& operand(std::size_t i);
  const ir::Operand& child(const ir::Operand& operand, std::size_t i);
  std::span<const ir::Operand> children(const ir::Operand& operand) const;
  /// {r} is as good as r: the element of a vector of one, else the operand itself.
  const ir::Operand& bare(const ir::Operand& operand) const;
  /// Offset of the lanes of operand `i` read as `type`.
  u32 source(std::size_t i, Ty type) { return source(operand(i), type); }
  u32 source(const ir::Operand& operand, Ty type);
  /// Any register or literal, with its own width (4, 8 or 16 bytes per lane) in `bytes`.
  u32 source_any(const ir::Operand& operand, Ty type, u8& bytes);
  u32 dest(std::size_t i, Ty type) { return dest(operand(i), type); }
  u32 dest(const ir::Operand& operand, Ty type);
  u32 predicate(const ir::Operand& operand, bool& negated);
  u32 predicate_dest(const ir::Operand& operand);
  AddressOperand address(const ir::Operand& operand);
  std::optional<i64> literal(const ir::Operand& operand) const;
  u32 label(const ir::Operand& operand) const;
  /// Where the labels of a .branchtargets list stand; empty when there is no such list.
  std::vector<u32> branch_targets(const ir::Operand& list) const;
  /// Where in local memory a .param variable of the body lies.
  const PlacedVariable* call_parameter(const ir::Operand& operand) const;
  u32 bits_of(const ir::Operand& operand) const;
  /// Appends offsets to Program::lists and points the instruction at them.
  void set_list(std::span<const u32> offsets);
  u32 literal_lanes(Ty type, u64 bits) {
    return layout_.literal(lane_bytes(info(type).bits), bits);
  }
  u32 special_lanes(isa::SpecialRegister reg, u32 component, u32 bytes) {
    return layout_.special(reg, component, bytes);
  }

  /// Why it cannot run; the first reason stays.
  Handler refuse(std::string reason);
  const std::string& reason() const { return reason_; }
  Program& program() { return program_; }

 private:
  u32 symbol_lanes(const ir::Operand& operand, Ty type);

  Program& program_;
  Layout& layout_;
  const ir::Instruction& instruction_;
  std::span<const u32> label_targets_;
  std::span<const ir::Operand> operands_;
  std::vector<std::string_view> modifiers_;
  std::vector<bool> used_;
  std::string reason_;
};

/// Address, space of an access: fills a, imm, space and kind2 (bytes of the base register).
void set_address(Lowering& low, const AddressOperand& address, Space space);
/// Consumes .global, .shared, ... ; Generic when there is none.
Space take_space(Lowering& low);
/// What a strong access or a fence orders and whom it reaches, packed for `set_order`. The scope is
/// .gpu where none is named, and is left to be consumed.
u32 order_of(const Lowering& low, std::string_view semantics);

}  // namespace pyptx::emu
