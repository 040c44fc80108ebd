// SPDX-License-Identifier: Apache-2.0
//
// Slot assignment by bounded backtracking over bit sets, rule evaluation, and candidates.
#include "match.h"

#include <algorithm>
#include <array>
#include <bit>

#include "pyptx/isa/ids.h"

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

bool applies(const tables::RuleRow& rule, const Binding& binding,
             std::span<const Modifier> modifiers) {
  return std::ranges::all_of(slice(tables::kTerms, rule.when),
                             [&](const TermRow& term) { return holds(term, binding, modifiers); });
}

bool is_broken(const tables::RuleRow& rule, const Binding& binding,
               std::span<const Modifier> modifiers) {
  if (rule.needs != 0 || !applies(rule, binding, modifiers)) return false;
  return std::ranges::none_of(slice(tables::kTerms, rule.then),
                              [&](const TermRow& term) { return holds(term, binding, modifiers); });
}

/// The first rule that `binding` breaks.
const tables::RuleRow* broken_rule(const FormRow& form, const Binding& binding,
                                   std::span<const Modifier> modifiers) {
  for (const tables::RuleRow& rule : slice(tables::kRules, form.rules)) {
    if (!rule.is_lint && is_broken(rule, binding, modifiers)) return &rule;
  }
  return nullptr;
}

void add_need(std::vector<Availability>& needs, std::uint16_t index) {
  if (index != 0) needs.push_back(tables::availability(index));
}

/// Fills the slots of one form. A modifier has rarely more than two places to go to, so the search
/// is short; the budget bounds what a hostile spelling can cost.
class Placement {
 public:
  Placement(const OpcodeIndex& opcode, std::size_t form, std::span<const Modifier> modifiers)
      : row_(opcode.rows()[form]), index_(opcode.form(form)), modifiers_(modifiers) {
    for (std::size_t m = 0; m < modifiers.size() && m < takes_.size(); ++m) {
      const int local = opcode.local(modifiers[m]);
      takes_[m] = local < 0 ? 0 : opcode.slots(form, local);
    }
  }

  std::optional<Match> run() {
    const auto count = modifiers_.size();
    const auto most = index_.ignored != 0 ? takes_.size() : index_.later.size();
    if (count > most || count < static_cast<std::size_t>(std::popcount(index_.mandatory))) {
      return std::nullopt;
    }
    if (std::any_of(takes_.begin(), takes_.begin() + static_cast<std::ptrdiff_t>(count),
                    [](SlotSet set) { return set == 0; })) {
      return std::nullopt;
    }
    place(0, 0);
    return std::move(best_);
  }

 private:
  /// The slots that modifier `next` may fill when `filled` are taken: not before a later slot of
  /// their group, and those of the compound opcode first and in order.
  SlotSet open(std::size_t next, SlotSet filled) const {
    SlotSet free = takes_[next] & (~filled | index_.ignored);
    const bool has_head = (~filled & index_.head & index_.mandatory) == 0;
    SlotSet result = 0;
    for (; free != 0; free &= free - 1) {
      const auto slot = static_cast<std::size_t>(std::countr_zero(free));
      const SlotSet bit = SlotSet{1} << slot;
      if ((filled & index_.later[slot]) != 0) continue;
      const bool is_head = (index_.head & bit) != 0;
      if (is_head ? (filled >> slot) != 0 : !has_head) continue;
      result |= bit;
    }
    return result;
  }

  /// True when a binding that breaks no rule was found, or the budget is spent.
  bool place(std::size_t next, SlotSet filled) {
    if (next == modifiers_.size()) {
      return (~filled & index_.mandatory) == 0 && keep();
    }
    if (--budget_ < 0) return true;
    for (SlotSet rest = open(next, filled); rest != 0; rest &= rest - 1) {
      const auto slot = static_cast<std::size_t>(std::countr_zero(rest));
      at_[next] = static_cast<std::uint8_t>(slot);
      if (place(next + 1, filled | (SlotSet{1} << slot))) return true;
    }
    return false;
  }

  bool keep() {
    Match match;
    match.binding.assign(index_.later.size(), -1);
    for (std::size_t m = 0; m < modifiers_.size(); ++m) {
      match.binding[at_[m]] = static_cast<std::int16_t>(m);
    }
    match.broken = broken_rule(row_, match.binding, modifiers_);
    const bool is_legal = match.broken == nullptr;
    if (is_legal || !best_) best_ = std::move(match);
    return is_legal;
  }

  const FormRow& row_;
  const FormIndex& index_;
  std::span<const Modifier> modifiers_;
  std::array<SlotSet, kMaximumSlots> takes_{};
  std::array<std::uint8_t, kMaximumSlots> at_{};
  std::optional<Match> best_;
  int budget_ = 5000;
};

}  // namespace

bool holds(const TermRow& term, const Binding& binding, std::span<const Modifier> modifiers) {
  const int bound = binding[term.slot];
  bool is_true = bound >= 0;
  if (is_true && term.values.count != 0) {
    const auto values = slice(tables::kTermValues, term.values);
    is_true = std::ranges::find(values, modifiers[static_cast<std::size_t>(bound)]) != values.end();
  }
  return is_true != term.negated;
}

std::optional<Match> bind_form(const OpcodeIndex& opcode, std::size_t form,
                               std::span<const Modifier> modifiers) {
  return Placement(opcode, form, modifiers).run();
}

int rule_focus(const tables::RuleRow& rule, const Binding& binding) {
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
    add_need(candidate.needs, value_of(slots[s], modifier)->needs);
    if (slots[s].ignored) continue;  // no part of the manual's spelling, nor of its order
    candidate.slots.emplace_back(slots[s].slot, modifier);
    if (binding[s] < last) candidate.in_manual_order = false;
    last = binding[s];
  }
  if (!row.beyond.empty()) candidate.against_manual.push_back(row.beyond);
  for (const tables::RuleRow& rule : slice(tables::kRules, form.rules)) {
    if (rule.needs != 0 && applies(rule, binding, modifiers)) add_need(candidate.needs, rule.needs);
    if (rule.is_lint && is_broken(rule, binding, modifiers)) {
      candidate.against_manual.push_back(rule.message);
    }
  }
  candidate.operands = resolve_operands(form, binding, modifiers);
  candidate.mandatory = static_cast<std::uint16_t>(
      std::ranges::count(candidate.operands, false, &OperandSpec::optional));
  candidate.is_bounded = std::ranges::any_of(
      candidate.operands, [](const OperandSpec& spec) { return spec.share || spec.part; });
  return candidate;
}

NearMiss near_miss(const OpcodeIndex& opcode, std::size_t form,
                   std::span<const Modifier> modifiers) {
  const FormIndex& index = opcode.form(form);
  NearMiss miss;
  miss.binding.assign(index.later.size(), -1);
  SlotSet filled = 0;
  for (std::size_t m = 0; m < modifiers.size(); ++m) {
    const int local = opcode.local(modifiers[m]);
    SlotSet free = local < 0 ? 0 : opcode.slots(form, local) & ~filled;
    bool is_placed = false;
    for (; free != 0 && !is_placed; free &= free - 1) {
      // Heads are not asked for: words out of place should still find their form.
      const auto slot = static_cast<std::size_t>(std::countr_zero(free));
      if ((filled & index.later[slot]) != 0) continue;
      filled |= SlotSet{1} << slot;
      miss.binding[slot] = static_cast<std::int16_t>(m);
      is_placed = true;
    }
    if (!is_placed) miss.unplaced.push_back(static_cast<int>(m));
  }
  for (SlotSet rest = index.mandatory & ~filled; rest != 0; rest &= rest - 1) {
    miss.empty_slots.push_back(std::countr_zero(rest));
  }
  miss.score = static_cast<int>(modifiers.size()) - 2 * static_cast<int>(miss.unplaced.size()) -
               static_cast<int>(miss.empty_slots.size());
  return miss;
}

std::vector<Modifier> without_repeats(std::span<const Modifier> modifiers) {
  std::vector<Modifier> kept;
  for (const Modifier modifier : modifiers) {
    const bool is_repeat =
        std::ranges::find(kept, modifier) != kept.end() &&
        std::ranges::find(tables::kRepeatable, modifier) != tables::kRepeatable.end();
    if (!is_repeat) kept.push_back(modifier);
  }
  return kept;
}

}  // namespace pyptx::isa
