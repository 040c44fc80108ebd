// SPDX-License-Identifier: Apache-2.0
//
// Slot assignment by backtracking, rule evaluation, and operand resolution for one form.
#include "match.h"

#include <algorithm>

namespace pyptx::isa {
namespace {

using tables::FormRow;
using tables::slice;
using tables::SlotRow;
using tables::TermRow;

std::span<const SlotRow> slots_of(const FormRow& form) { return slice(tables::kSlots, form.slots); }

const tables::ValueRow* value_of(const SlotRow& slot, Modifier modifier) {
  for (const tables::ValueRow& value : slice(tables::kValues, slot.values)) {
    if (value.modifier == modifier) return &value;
  }
  return nullptr;
}

/// Is a later slot of the group filled already? Then an earlier one may not be any more.
bool is_passed(std::span<const SlotRow> slots, const Binding& binding, std::size_t slot) {
  if (slots[slot].group == 0) return false;
  for (std::size_t s = slot + 1; s < slots.size(); ++s) {
    if (binding[s] >= 0 && slots[s].group == slots[slot].group) return true;
  }
  return false;
}

/// Slots of the compound opcode come first and in order, all others after them.
bool keeps_head(std::span<const SlotRow> slots, const Binding& binding, std::size_t slot,
                std::size_t head) {
  if (slot < head) {
    return std::all_of(binding.begin() + static_cast<std::ptrdiff_t>(slot), binding.end(),
                       [](std::int16_t bound) { return bound < 0; });
  }
  for (std::size_t s = 0; s < head; ++s) {
    if (binding[s] < 0 && !slots[s].optional) return false;
  }
  return true;
}

bool may_fill(const FormRow& form, const Binding& binding, std::size_t slot, Modifier modifier) {
  const std::span<const SlotRow> slots = slots_of(form);
  return binding[slot] < 0 && admits(slots[slot], modifier) && !is_passed(slots, binding, slot) &&
         keeps_head(slots, binding, slot, form.head);
}

/// Places modifiers[next...] by trying free slots in the form's order.
bool place(const FormRow& form, std::span<const Modifier> modifiers, std::size_t next,
           Binding& binding) {
  const std::span<const SlotRow> slots = slots_of(form);
  if (next == modifiers.size()) {
    for (std::size_t s = 0; s < slots.size(); ++s) {
      if (binding[s] < 0 && !slots[s].optional) return false;
    }
    return true;
  }
  for (std::size_t s = 0; s < slots.size(); ++s) {
    if (!may_fill(form, binding, s, modifiers[next])) continue;
    binding[s] = static_cast<std::int16_t>(next);
    if (place(form, modifiers, next + 1, binding)) return true;
    binding[s] = -1;
  }
  return false;
}

bool holds(const TermRow& term, const Binding& binding, std::span<const Modifier> modifiers) {
  const int bound = binding[term.slot];
  bool is_true = bound >= 0;
  if (is_true && term.values.count != 0) {
    is_true = std::ranges::find(slice(tables::kTermValues, term.values),
                                modifiers[static_cast<std::size_t>(bound)]) !=
              slice(tables::kTermValues, term.values).end();
  }
  return is_true != term.negated;
}

bool applies(const tables::RuleRow& rule, const Binding& binding,
             std::span<const Modifier> modifiers) {
  return std::ranges::all_of(slice(tables::kTerms, rule.when),
                             [&](const TermRow& term) { return holds(term, binding, modifiers); });
}

/// A property of an operand under `binding`; 0 when its slot is left out.
std::uint16_t resolve(const tables::Property& property, const Binding& binding,
                      std::span<const Modifier> modifiers) {
  if (property.slot < 0) return property.fixed;
  const int bound = binding[static_cast<std::size_t>(property.slot)];
  if (bound < 0) return 0;
  for (const tables::ByModifier& entry : slice(tables::kByModifier, property.values)) {
    if (entry.modifier == modifiers[static_cast<std::size_t>(bound)]) return entry.value;
  }
  return 0;
}

OperandSpec resolve(const tables::OperandRow& row, const FormRow& form, const Binding& binding,
                    std::span<const Modifier> modifiers) {
  OperandSpec spec;
  spec.name = row.name;
  spec.accept = row.accept;
  spec.role = row.role;
  spec.width = row.width;
  spec.optional = row.optional;
  spec.type = static_cast<Type>(resolve(row.type, binding, modifiers));
  spec.vector = resolve(row.count, binding, modifiers);
  spec.coordinates = resolve(row.coordinates, binding, modifiers);
  spec.minimum = row.minimum;
  spec.maximum = row.maximum;
  spec.multiple = row.multiple;
  spec.literals = slice(tables::kLiterals, row.literals);
  spec.state_space = row.space;
  if (row.space_slot >= 0) {
    const auto slot = static_cast<std::size_t>(row.space_slot);
    spec.space = slots_of(form)[slot].slot;
    if (binding[slot] >= 0) spec.state_space = modifiers[static_cast<std::size_t>(binding[slot])];
  }
  return spec;
}

void add_need(std::vector<Availability>& needs, std::uint16_t index) {
  if (index != 0) needs.push_back(tables::availability(index));
}

}  // namespace

bool admits(const SlotRow& slot, Modifier modifier) { return value_of(slot, modifier) != nullptr; }

std::optional<Binding> bind(const FormRow& form, std::span<const Modifier> modifiers) {
  const std::span<const SlotRow> slots = slots_of(form);
  if (modifiers.size() > slots.size()) return std::nullopt;
  Binding binding(slots.size(), -1);
  if (!place(form, modifiers, 0, binding)) return std::nullopt;
  return binding;
}

const tables::RuleRow* broken_rule(const FormRow& form, const Binding& binding,
                                   std::span<const Modifier> modifiers) {
  for (const tables::RuleRow& rule : slice(tables::kRules, form.rules)) {
    if (rule.needs != 0 || !applies(rule, binding, modifiers)) continue;
    const bool kept = std::ranges::any_of(slice(tables::kTerms, rule.then), [&](const TermRow& t) {
      return holds(t, binding, modifiers);
    });
    if (!kept) return &rule;
  }
  return nullptr;
}

int rule_focus(const FormRow&, const tables::RuleRow& rule, const Binding& binding) {
  for (const TermRow& term : slice(tables::kTerms, rule.when)) {
    if (binding[term.slot] >= 0) return binding[term.slot];
  }
  return -1;
}

Candidate make_candidate(const FormRow& form, const Form& row, const Binding& binding,
                         std::span<const Modifier> modifiers) {
  Candidate candidate;
  candidate.form = &row;
  add_need(candidate.needs, form.needs);
  const std::span<const SlotRow> slots = slots_of(form);
  int last = -1;
  for (std::size_t s = 0; s < slots.size(); ++s) {
    if (binding[s] < 0) {
      candidate.slots.emplace_back(slots[s].slot, Modifier::None);
      continue;
    }
    const Modifier modifier = modifiers[static_cast<std::size_t>(binding[s])];
    candidate.slots.emplace_back(slots[s].slot, modifier);
    add_need(candidate.needs, value_of(slots[s], modifier)->needs);
    if (binding[s] < last) candidate.in_manual_order = false;
    last = binding[s];
  }
  for (const tables::RuleRow& rule : slice(tables::kRules, form.rules)) {
    if (rule.needs != 0 && applies(rule, binding, modifiers)) add_need(candidate.needs, rule.needs);
  }
  for (const tables::OperandRow& operand : slice(tables::kOperands, form.operands)) {
    if (operand.condition >= 0 && binding[static_cast<std::size_t>(operand.condition)] < 0) {
      continue;
    }
    candidate.operands.push_back(resolve(operand, form, binding, modifiers));
    if (!operand.optional) ++candidate.mandatory;
  }
  return candidate;
}

NearMiss near_miss(const FormRow& form, std::span<const Modifier> modifiers) {
  const std::span<const SlotRow> slots = slots_of(form);
  NearMiss miss;
  miss.binding.assign(slots.size(), -1);
  for (std::size_t m = 0; m < modifiers.size(); ++m) {
    bool placed = false;
    for (std::size_t s = 0; s < slots.size() && !placed; ++s) {
      // Heads are not asked for: words out of place should still find their form.
      const bool is_free = miss.binding[s] < 0 && !is_passed(slots, miss.binding, s);
      if (!is_free || !admits(slots[s], modifiers[m])) continue;
      miss.binding[s] = static_cast<std::int16_t>(m);
      placed = true;
    }
    if (!placed) miss.unplaced.push_back(static_cast<int>(m));
  }
  for (std::size_t s = 0; s < slots.size(); ++s) {
    if (miss.binding[s] < 0 && !slots[s].optional) miss.empty_slots.push_back(static_cast<int>(s));
  }
  miss.score = static_cast<int>(modifiers.size()) - 2 * static_cast<int>(miss.unplaced.size()) -
               static_cast<int>(miss.empty_slots.size());
  return miss;
}

}  // namespace pyptx::isa
