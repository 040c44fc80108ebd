// SPDX-License-Identifier: Apache-2.0
//
// Diagnostics for spellings that match no form, with at most three nearest legal spellings.
#include "suggest.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "match.h"
#include "pyptx/isa/ids.h"
#include "pyptx/support/nearest.h"
#include "tables.h"

namespace pyptx::isa {
namespace {

using tables::slice;

constexpr std::size_t kSuggestions = 3;
constexpr std::size_t kLongWord = 64;  // longer than any modifier

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

  const OpcodeIndex& index() const { return OpcodeIndex::of(opcode); }
  const Form& row(std::size_t form) const {
    const auto first = static_cast<std::size_t>(index().rows().data() - tables::kFormRows.data());
    return tables::kForms[first + form];
  }
  std::size_t form_count() const { return index().rows().size(); }
  bool is_legal() const {
    if (std::ranges::find(modifiers, Modifier::None) != modifiers.end()) return false;
    for (std::size_t form = 0; form < form_count(); ++form) {
      const auto match = bind_form(index(), form, modifiers);
      if (match && match->broken == nullptr) return true;
    }
    return false;
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

/// Legal spellings one edit at `index` away: another value there, or none.
void offer_edits_at(Nearest& nearest, const Attempt& attempt, std::size_t index) {
  for (const Modifier value : attempt.index().domain()) {
    const Attempt edited = replaced(attempt, index, value);
    if (edited.is_legal()) {
      nearest.offer(support::edit_distance(text(value), attempt.texts[index].substr(0, kLongWord)),
                    edited.spelling());
    }
  }
  const Attempt without = removed(attempt, index);
  // Leaving a word out ranks with a replacement by a rather different word.
  if (without.is_legal()) nearest.offer(3, without.spelling());
}

/// Legal spellings with a value there that is written much alike: m16n8k16 for m16n8k32.
void offer_near_values(Nearest& nearest, const Attempt& attempt, std::size_t index) {
  const std::string_view word = attempt.texts[index].substr(0, kLongWord);
  for (const Modifier value : attempt.index().domain()) {
    const std::size_t distance = support::edit_distance(text(value), word);
    if (distance == 0 || distance > word.size() / 4) continue;
    const Attempt edited = replaced(attempt, index, value);
    if (edited.is_legal()) nearest.offer(distance, edited.spelling());
  }
}

/// Legal spellings that fill an empty mandatory slot, where the manual puts it.
void offer_fillings(Nearest& nearest, const Attempt& attempt, std::size_t form,
                    const NearMiss& miss) {
  const auto slots = slice(tables::kSlots, attempt.index().rows()[form].slots);
  for (const int empty : miss.empty_slots) {
    std::size_t position = 0;
    for (int s = 0; s < empty; ++s) {
      const int bound = miss.binding[static_cast<std::size_t>(s)];
      position = std::max(position, static_cast<std::size_t>(bound + 1));
    }
    const auto& slot = slots[static_cast<std::size_t>(empty)];
    for (const auto& value : slice(tables::kValues, slot.values)) {
      const Attempt filled = inserted(attempt, position, value.modifier);
      if (filled.is_legal()) nearest.offer(1, filled.spelling());
    }
  }
}

/// The same words in the manual's order, where a form takes them all.
void offer_order(Nearest& nearest, const Attempt& attempt, const NearMiss& miss) {
  if (!miss.unplaced.empty()) return;
  Attempt sorted{attempt.opcode, {}, {}};
  for (const int bound : miss.binding) {
    if (bound < 0) continue;
    sorted.modifiers.push_back(attempt.modifiers[static_cast<std::size_t>(bound)]);
    sorted.texts.push_back(attempt.texts[static_cast<std::size_t>(bound)]);
  }
  if (sorted.is_legal()) nearest.offer(0, sorted.spelling());
}

void add_fixits(diag::Diagnostic& diagnostic, Nearest& nearest,
                diag::Focus::Part replaced = diag::Focus::Part::Spelling) {
  for (std::string& text : nearest.take()) {
    diagnostic->fixits.push_back({std::move(text), "a legal spelling", {replaced, 0}});
  }
}

/// The modifier, or all of them where none alone is at fault.
diag::Focus modifier_focus(int index) {
  if (index < 0) return {diag::Focus::Part::Spelling, 0};
  return {diag::Focus::Part::Modifier, static_cast<std::uint16_t>(index)};
}

/// A form whose slots fit but whose rules do not, if there is one.
std::optional<diag::Diagnostic> explain_rule(const Attempt& attempt, Detail detail) {
  for (std::size_t form = 0; form < attempt.form_count(); ++form) {
    const auto match = bind_form(attempt.index(), form, attempt.modifiers);
    if (!match || match->broken == nullptr) continue;
    diag::Diagnostic diagnostic(diag::Kind::CombinationRule,
                                {attempt.spelling(), std::string(match->broken->message)});
    diagnostic.focus = modifier_focus(rule_focus(*match->broken, match->binding));
    diagnostic->manual = attempt.row(form).manual;
    if (detail == Detail::Verdict) return diagnostic;
    Nearest nearest;
    for (std::size_t i = 0; i < attempt.texts.size(); ++i) offer_edits_at(nearest, attempt, i);
    for (std::size_t other = 0; other < attempt.form_count(); ++other) {
      const NearMiss miss = near_miss(attempt.index(), other, attempt.modifiers);
      if (miss.unplaced.empty()) offer_fillings(nearest, attempt, other, miss);
    }
    add_fixits(diagnostic, nearest);
    return diagnostic;
  }
  return std::nullopt;
}

/// The form that most of the modifiers fit.
std::pair<std::size_t, NearMiss> nearest_form(const Attempt& attempt) {
  std::size_t best = 0;
  NearMiss miss = near_miss(attempt.index(), 0, attempt.modifiers);
  for (std::size_t form = 1; form < attempt.form_count(); ++form) {
    NearMiss here = near_miss(attempt.index(), form, attempt.modifiers);
    if (here.score <= miss.score) continue;
    best = form;
    miss = std::move(here);
  }
  return {best, std::move(miss)};
}

/// Whether modifier number `index` stands where that slot of the form is.
bool stands_at(const NearMiss& miss, int slot, int index) {
  for (int s = 0; s < static_cast<int>(miss.binding.size()); ++s) {
    const int bound = miss.binding[static_cast<std::size_t>(s)];
    if (bound >= 0 && s != slot && (s < slot) != (bound < index)) return false;
  }
  return true;
}

/// What each empty slot of the nearest form lacks: a word, or another in the place of the one
/// given.
void add_slot_notes(diag::Diagnostic& diagnostic, const Attempt& attempt, std::size_t form,
                    const NearMiss& miss) {
  const auto slots = slice(tables::kSlots, attempt.index().rows()[form].slots);
  const auto word = [&](int index) {
    return "'." + std::string(attempt.texts[static_cast<std::size_t>(index)]) + "'";
  };
  std::vector<int> unplaced = miss.unplaced;
  std::vector<std::string> missing;
  for (const int empty : miss.empty_slots) {
    const Slot slot = slots[static_cast<std::size_t>(empty)].slot;
    const std::string name(tables::kSlotNames[static_cast<std::size_t>(slot)]);
    const auto wrong =
        std::ranges::find_if(unplaced, [&](int i) { return stands_at(miss, empty, i); });
    if (wrong == unplaced.end()) {
      missing.push_back("missing: ." + name);
      continue;
    }
    diagnostic->notes.push_back(word(*wrong) + " is no ." + name + " of that form");
    unplaced.erase(wrong);
  }
  if (!unplaced.empty())
    diagnostic->notes.push_back(word(unplaced.front()) + " does not fit there");
  for (std::string& note : missing) diagnostic->notes.push_back(std::move(note));
}

diag::Diagnostic explain_form(const Attempt& attempt, Detail detail) {
  const auto [best, miss] = nearest_form(attempt);
  diag::Diagnostic diagnostic(diag::Kind::IllegalSpelling,
                              {attempt.spelling(), std::string(text(attempt.opcode))});
  diagnostic->manual = attempt.row(best).manual;
  diagnostic.focus = modifier_focus(miss.unplaced.empty() ? -1 : miss.unplaced.front());
  if (detail == Detail::Verdict) return diagnostic;
  diagnostic->notes.push_back("nearest form: " + std::string(attempt.row(best).syntax));
  Nearest nearest;
  if (!miss.unplaced.empty()) {
    offer_edits_at(nearest, attempt, static_cast<std::size_t>(miss.unplaced.front()));
  }
  add_slot_notes(diagnostic, attempt, best, miss);
  offer_fillings(nearest, attempt, best, miss);
  // The form that has all the words and wants one more need not be the one that was meant.
  for (std::size_t i = 0; miss.unplaced.empty() && i < attempt.texts.size(); ++i) {
    offer_near_values(nearest, attempt, i);
  }
  for (std::size_t form = 0; form < attempt.form_count(); ++form) {
    offer_order(nearest, attempt, near_miss(attempt.index(), form, attempt.modifiers));
  }
  add_fixits(diagnostic, nearest);
  return diagnostic;
}

}  // namespace

diag::Diagnostic unknown_opcode(std::string_view opcode, Detail detail) {
  diag::Diagnostic diagnostic(diag::Kind::UnknownOpcode, {std::string(opcode)});
  diagnostic.focus.part = diag::Focus::Part::Opcode;
  // An opcode longer than any that exists is near none.
  if (detail == Detail::Verdict || opcode.size() > 32) return diagnostic;
  Nearest nearest;
  for (const std::string_view known : tables::kOpcodes.subspan(1)) {
    const std::size_t distance = support::edit_distance(known, opcode);
    if (distance <= std::max<std::size_t>(1, opcode.size() / 2)) {
      nearest.offer(distance, std::string(known));
    }
  }
  add_fixits(diagnostic, nearest, diag::Focus::Part::Opcode);
  return diagnostic;
}

diag::Diagnostic explain_mismatch(Opcode opcode, std::span<const std::string_view> modifiers,
                                  Detail detail) {
  // Past what any form takes there is nothing to repair.
  if (modifiers.size() > kMaximumSlots) detail = Detail::Verdict;
  Attempt attempt{opcode, {}, {modifiers.begin(), modifiers.end()}};
  std::size_t unknown = modifiers.size();
  for (std::size_t i = 0; i < modifiers.size(); ++i) {
    const Modifier id = find_modifier(modifiers[i]).value_or(Modifier::None);
    attempt.modifiers.push_back(id);
    const bool is_known = id != Modifier::None && attempt.index().local(id) >= 0;
    if (!is_known && unknown == modifiers.size()) unknown = i;
  }
  if (unknown < modifiers.size()) {
    diag::Diagnostic diagnostic(diag::Kind::UnknownModifier,
                                {std::string(modifiers[unknown]), std::string(text(opcode))});
    diagnostic.focus = modifier_focus(static_cast<int>(unknown));
    diagnostic->manual = attempt.row(nearest_form(attempt).first).manual;
    if (detail == Detail::Verdict) return diagnostic;
    Nearest nearest;
    offer_edits_at(nearest, attempt, unknown);
    add_fixits(diagnostic, nearest);
    return diagnostic;
  }
  if (auto rule = explain_rule(attempt, detail)) return std::move(*rule);
  return explain_form(attempt, detail);
}

}  // namespace pyptx::isa
