// SPDX-License-Identifier: Apache-2.0
//
// Diagnostics for spellings that match no form, with at most three nearest legal spellings.
#include "suggest.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "match.h"
#include "tables.h"

namespace pyptx::isa {
namespace {

using tables::FormRow;
using tables::slice;

constexpr std::size_t kSuggestions = 3;

std::span<const FormRow> forms_of(Opcode opcode) {
  return slice(tables::kFormRows, tables::kOpcodeForms[static_cast<std::size_t>(opcode)]);
}

const Form& row_of(const FormRow& form) {
  return tables::kForms[static_cast<std::size_t>(&form - tables::kFormRows.data())];
}

/// The best few texts by distance, without repeats.
class Nearest {
 public:
  void offer(std::size_t distance, std::string text) {
    if (seen_.insert(text).second) found_.emplace_back(distance, std::move(text));
  }
  std::vector<std::string> take() {
    std::ranges::stable_sort(found_, {}, &std::pair<std::size_t, std::string>::first);
    std::vector<std::string> texts;
    for (auto& [distance, text] : found_) {
      if (texts.size() == kSuggestions) break;
      texts.push_back(std::move(text));
    }
    return texts;
  }

 private:
  std::set<std::string> seen_;
  std::vector<std::pair<std::size_t, std::string>> found_;
};

/// One spelling under repair: ids where the modifier is known, texts as written.
struct Attempt {
  Opcode opcode{};
  std::vector<Modifier> modifiers;
  std::vector<std::string_view> texts;

  bool is_legal() const {
    if (std::ranges::find(modifiers, Modifier::None) != modifiers.end()) return false;
    return std::ranges::any_of(forms_of(opcode), [&](const FormRow& form) {
      const auto binding = bind(form, modifiers);
      return binding && broken_rule(form, *binding, modifiers) == nullptr;
    });
  }
  std::string spelling() const {
    std::string joined(text(opcode));
    for (const std::string_view word : texts) joined.append(".").append(word);
    return joined;
  }
};

Attempt replaced(const Attempt& from, std::size_t index, Modifier by) {
  Attempt to = from;
  to.modifiers[index] = by;
  to.texts[index] = text(by);
  return to;
}

Attempt removed(const Attempt& from, std::size_t index) {
  Attempt to = from;
  to.modifiers.erase(to.modifiers.begin() + static_cast<std::ptrdiff_t>(index));
  to.texts.erase(to.texts.begin() + static_cast<std::ptrdiff_t>(index));
  return to;
}

Attempt inserted(const Attempt& from, std::size_t index, Modifier what) {
  Attempt to = from;
  to.modifiers.insert(to.modifiers.begin() + static_cast<std::ptrdiff_t>(index), what);
  to.texts.insert(to.texts.begin() + static_cast<std::ptrdiff_t>(index), text(what));
  return to;
}

/// Every value that any slot of the opcode's forms takes.
std::vector<Modifier> values_of(Opcode opcode) {
  std::set<Modifier> values;
  for (const FormRow& form : forms_of(opcode)) {
    for (const tables::SlotRow& slot : slice(tables::kSlots, form.slots)) {
      for (const auto& value : slice(tables::kValues, slot.values)) values.insert(value.modifier);
    }
  }
  return {values.begin(), values.end()};
}

/// Legal spellings one edit at `index` away: another value there, or none.
void offer_edits_at(Nearest& nearest, const Attempt& attempt, std::size_t index) {
  for (const Modifier value : values_of(attempt.opcode)) {
    const Attempt edited = replaced(attempt, index, value);
    if (edited.is_legal()) {
      nearest.offer(edit_distance(text(value), attempt.texts[index]), edited.spelling());
    }
  }
  const Attempt without = removed(attempt, index);
  // Leaving a word out ranks with a replacement by a rather different word.
  if (without.is_legal()) nearest.offer(3, without.spelling());
}

/// Legal spellings that fill an empty mandatory slot, where the manual puts it.
void offer_fillings(Nearest& nearest, const Attempt& attempt, const FormRow& form,
                    const NearMiss& miss) {
  for (const int empty : miss.empty_slots) {
    std::size_t position = 0;
    for (int s = 0; s < empty; ++s) {
      const int bound = miss.binding[static_cast<std::size_t>(s)];
      position = std::max(position, static_cast<std::size_t>(bound + 1));
    }
    const auto& slot = slice(tables::kSlots, form.slots)[static_cast<std::size_t>(empty)];
    for (const auto& value : slice(tables::kValues, slot.values)) {
      const Attempt filled = inserted(attempt, position, value.modifier);
      if (filled.is_legal()) nearest.offer(1, filled.spelling());
    }
  }
}

void add_fixits(diag::Diagnostic& diagnostic, Nearest& nearest) {
  for (std::string& text : nearest.take()) {
    diagnostic.fixits.push_back({std::move(text), "a legal spelling"});
  }
}

diag::Focus modifier_focus(int index) {
  if (index < 0) return {};
  return {diag::Focus::Part::Modifier, static_cast<std::uint16_t>(index)};
}

/// The forms whose slots fit but whose rules do not; null when there is none.
std::optional<diag::Diagnostic> explain_rule(const Attempt& attempt) {
  for (const FormRow& form : forms_of(attempt.opcode)) {
    const auto binding = bind(form, attempt.modifiers);
    if (!binding) continue;
    const tables::RuleRow* rule = broken_rule(form, *binding, attempt.modifiers);
    if (rule == nullptr) continue;
    const int focus = rule_focus(form, *rule, *binding);
    diag::Diagnostic diagnostic(diag::Kind::CombinationRule,
                                {attempt.spelling(), std::string(rule->message)});
    diagnostic.focus = modifier_focus(focus);
    diagnostic.manual = row_of(form).manual;
    Nearest nearest;
    for (std::size_t i = 0; i < attempt.texts.size(); ++i) offer_edits_at(nearest, attempt, i);
    for (const FormRow& other : forms_of(attempt.opcode)) {
      const NearMiss miss = near_miss(other, attempt.modifiers);
      if (miss.unplaced.empty()) offer_fillings(nearest, attempt, other, miss);
    }
    add_fixits(diagnostic, nearest);
    return diagnostic;
  }
  return std::nullopt;
}

/// The form that most of the modifiers fit.
std::pair<const FormRow*, NearMiss> nearest_form(const Attempt& attempt) {
  const FormRow* best = nullptr;
  NearMiss miss;
  for (const FormRow& form : forms_of(attempt.opcode)) {
    NearMiss here = near_miss(form, attempt.modifiers);
    if (best == nullptr || here.score > miss.score) {
      best = &form;
      miss = std::move(here);
    }
  }
  return {best, std::move(miss)};
}

diag::Diagnostic explain_form(const Attempt& attempt) {
  const auto [best, miss] = nearest_form(attempt);
  diag::Diagnostic diagnostic(diag::Kind::IllegalSpelling,
                              {attempt.spelling(), std::string(text(attempt.opcode))});
  diagnostic.manual = row_of(*best).manual;
  diagnostic.notes.push_back("nearest form: " + std::string(row_of(*best).syntax));
  Nearest nearest;
  if (!miss.unplaced.empty()) {
    diagnostic.focus = modifier_focus(miss.unplaced.front());
    offer_edits_at(nearest, attempt, static_cast<std::size_t>(miss.unplaced.front()));
  }
  for (const int empty : miss.empty_slots) {
    const auto& slot = slice(tables::kSlots, best->slots)[static_cast<std::size_t>(empty)];
    diagnostic.notes.push_back(
        "missing: ." + std::string(tables::kSlotNames[static_cast<std::size_t>(slot.slot)]));
  }
  offer_fillings(nearest, attempt, *best, miss);
  add_fixits(diagnostic, nearest);
  return diagnostic;
}

}  // namespace

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substitute = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substitute});
    }
  }
  return row[b.size()];
}

diag::Diagnostic unknown_opcode(std::string_view opcode) {
  diag::Diagnostic diagnostic(diag::Kind::UnknownOpcode, {std::string(opcode)});
  diagnostic.focus.part = diag::Focus::Part::Opcode;
  Nearest nearest;
  for (const std::string_view known : tables::kOpcodes.subspan(1)) {
    const std::size_t distance = edit_distance(known, opcode);
    if (distance <= std::max<std::size_t>(1, opcode.size() / 2)) {
      nearest.offer(distance, std::string(known));
    }
  }
  add_fixits(diagnostic, nearest);
  return diagnostic;
}

diag::Diagnostic explain_mismatch(Opcode opcode, std::span<const std::string_view> modifiers) {
  Attempt attempt{opcode, {}, {modifiers.begin(), modifiers.end()}};
  const std::vector<Modifier> known = values_of(opcode);
  for (std::size_t i = 0; i < modifiers.size(); ++i) {
    const Modifier id = find_modifier(modifiers[i]).value_or(Modifier::None);
    attempt.modifiers.push_back(id);
    if (id != Modifier::None && std::ranges::binary_search(known, id)) continue;
    // Later unknown words must not hide the repair of this one: judge what came before it.
    for (std::size_t j = i + 1; j < modifiers.size(); ++j) {
      attempt.modifiers.push_back(find_modifier(modifiers[j]).value_or(Modifier::None));
    }
    diag::Diagnostic diagnostic(diag::Kind::UnknownModifier,
                                {std::string(modifiers[i]), std::string(text(opcode))});
    diagnostic.focus = modifier_focus(static_cast<int>(i));
    diagnostic.manual = row_of(*nearest_form(attempt).first).manual;
    Nearest nearest;
    offer_edits_at(nearest, attempt, i);
    add_fixits(diagnostic, nearest);
    return diagnostic;
  }
  if (auto rule = explain_rule(attempt)) return std::move(*rule);
  return explain_form(attempt);
}

}  // namespace pyptx::isa
