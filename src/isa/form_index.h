// SPDX-License-Identifier: Apache-2.0
//
// The forms as bit sets, made once per process from the generated rows: which slots of a form each
// modifier may fill. Matching a spelling is then arithmetic on 64-bit words; most forms fall out at
// the first modifier that none of their slots takes.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "pyptx/isa/id.h"
#include "tables.h"

namespace pyptx::isa {

/// A set of slots of one form; slot s is bit s. The generator refuses forms with more slots.
using SlotSet = std::uint64_t;
inline constexpr std::size_t kMaximumSlots = 64;

struct FormIndex {
  SlotSet mandatory = 0;
  SlotSet head = 0;            // slots of the compound opcode
  SlotSet ignored = 0;         // takes any number of words
  std::vector<SlotSet> later;  // by slot: those after it that only order tells apart from it
};

/// Everything about one opcode's forms. A modifier is known by its number among those the opcode
/// takes.
class OpcodeIndex {
 public:
  explicit OpcodeIndex(tables::Range forms);

  static const OpcodeIndex& of(Opcode opcode);

  /// The number of `modifier` among those that some form takes; -1: none does.
  int local(Modifier modifier) const {
    return static_cast<int>(local_[static_cast<std::size_t>(modifier)]) - 1;
  }
  /// The slots of form number `form` of the opcode that take a modifier.
  SlotSet slots(std::size_t form, int local) const {
    return slots_[form * domain_.size() + static_cast<std::size_t>(local)];
  }
  const FormIndex& form(std::size_t form) const { return forms_[form]; }
  std::span<const tables::FormRow> rows() const { return rows_; }
  /// Every modifier that some form takes, in the order of their ids.
  std::span<const Modifier> domain() const { return domain_; }

 private:
  std::span<const tables::FormRow> rows_;
  std::vector<Modifier> domain_;
  std::vector<std::uint16_t> local_;  // by Modifier: number + 1, or 0
  std::vector<FormIndex> forms_;
  std::vector<SlotSet> slots_;  // by form, then by local number
};

}  // namespace pyptx::isa
