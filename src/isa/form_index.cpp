// SPDX-License-Identifier: Apache-2.0
#include "form_index.h"

#include <algorithm>

#include "pyptx/isa/ids.h"

namespace pyptx::isa {
namespace {

using tables::slice;

FormIndex index_slots(const tables::FormRow& form) {
  FormIndex index;
  const auto slots = slice(tables::kSlots, form.slots);
  index.later.resize(slots.size());
  for (std::size_t s = 0; s < slots.size(); ++s) {
    const SlotSet bit = SlotSet{1} << s;
    if (!slots[s].optional) index.mandatory |= bit;
    if (slots[s].ignored) index.ignored |= bit;
    if (s < form.head) index.head |= bit;
    for (std::size_t before = 0; before < s && slots[s].group != 0; ++before) {
      if (slots[before].group == slots[s].group) index.later[before] |= bit;
    }
  }
  return index;
}

std::vector<OpcodeIndex> index_all() {
  std::vector<OpcodeIndex> all;
  all.reserve(tables::kOpcodeForms.size());
  for (const tables::Range range : tables::kOpcodeForms) all.emplace_back(range);
  return all;
}

}  // namespace

OpcodeIndex::OpcodeIndex(tables::Range forms)
    : rows_(slice(tables::kFormRows, forms)), local_(kModifierCount) {
  for (const tables::FormRow& form : rows_) {
    forms_.push_back(index_slots(form));
    for (const tables::SlotRow& slot : slice(tables::kSlots, form.slots)) {
      for (const auto& value : slice(tables::kValues, slot.values)) {
        local_[static_cast<std::size_t>(value.modifier)] = 1;
      }
    }
  }
  for (std::size_t m = 0; m < local_.size(); ++m) {
    if (local_[m] == 0) continue;
    domain_.push_back(static_cast<Modifier>(m));
    local_[m] = static_cast<std::uint16_t>(domain_.size());
  }
  slots_.resize(rows_.size() * domain_.size());
  for (std::size_t f = 0; f < rows_.size(); ++f) {
    const auto slots = slice(tables::kSlots, rows_[f].slots);
    for (std::size_t s = 0; s < slots.size(); ++s) {
      for (const auto& value : slice(tables::kValues, slots[s].values)) {
        const auto number = static_cast<std::size_t>(local(value.modifier));
        slots_[f * domain_.size() + number] |= SlotSet{1} << s;
      }
    }
  }
}

const OpcodeIndex& OpcodeIndex::of(Opcode opcode) {
  static const std::vector<OpcodeIndex> all = index_all();
  return all[static_cast<std::size_t>(opcode)];
}

}  // namespace pyptx::isa
