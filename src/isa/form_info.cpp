// SPDX-License-Identifier: Apache-2.0
#include "pyptx/isa/form_info.h"

#include <algorithm>

#include "match.h"
#include "pyptx/isa/type.h"
#include "tables.h"

namespace pyptx::isa {
namespace {

using tables::slice;

const tables::FormRow& row_of(const Form& form) { return tables::kFormRows[form.id]; }

using Words = std::vector<std::string_view>;

/// What may stand in a slot where each of `words` has to stand somewhere; empty: it is left out. A
/// type asks for no slot in particular, since an instruction has several.
Words choices(const SlotInfo& slot, std::span<const std::string_view> words) {
  Words all;
  for (const SlotValueInfo& value : slot.values) {
    const bool is_asked_for = std::ranges::find(words, value.text) != words.end();
    if (is_asked_for && !find_type(value.text)) return {value.text};
    if (is_asked_for || !slot.optional) all.push_back(value.text);
  }
  return all;
}

}  // namespace

std::span<const Form> all_forms() { return tables::kForms; }

std::span<const Form> forms_of(Opcode opcode) {
  return slice(tables::kForms, tables::kOpcodeForms[static_cast<std::size_t>(opcode)]);
}

std::vector<const Form*> forms_with_room(Opcode opcode, std::span<const Modifier> modifiers) {
  const OpcodeIndex& index = OpcodeIndex::of(opcode);
  const std::span<const Form> forms = forms_of(opcode);
  std::vector<const Form*> found;
  for (std::size_t i = 0; i < forms.size(); ++i) {
    if (near_miss(index, i, modifiers).unplaced.empty()) found.push_back(&forms[i]);
  }
  return found;
}

std::span<const std::string_view> all_opcodes() { return tables::kOpcodes.subspan(1); }

std::string text(const Availability& needs) {
  std::string words;
  if (needs.version > Version{1, 0}) words = "PTX ISA " + needs.version.text();
  if (!needs.targets.empty()) {
    if (!words.empty()) words += ", ";
    words += needs.targets_text();
  }
  return words.empty() ? "every version and target" : words;
}

Availability needs(const Form& form) { return tables::availability(row_of(form).needs); }

std::vector<SlotInfo> slots(const Form& form) {
  std::vector<SlotInfo> all;
  for (const tables::SlotRow& row : slice(tables::kSlots, row_of(form).slots)) {
    if (row.ignored) continue;
    SlotInfo info;
    info.name = tables::kSlotNames[static_cast<std::size_t>(row.slot)];
    info.optional = row.optional;
    for (const tables::ValueRow& value : slice(tables::kValues, row.values)) {
      info.values.push_back({text(value.modifier), tables::availability(value.needs)});
    }
    all.push_back(std::move(info));
  }
  return all;
}

std::vector<RuleInfo> rules(const Form& form) {
  std::vector<RuleInfo> all;
  for (const tables::RuleRow& row : slice(tables::kRules, row_of(form).rules)) {
    if (!row.message.empty()) all.push_back({row.message, row.is_lint});
  }
  return all;
}

std::span<const ExampleInfo> examples(const Form& form) {
  return slice(tables::kExamples, row_of(form).examples);
}

std::vector<const Spelling*> spellings(const Form& form, std::span<const std::string_view> words) {
  std::vector<Words> partial{{}};
  for (const SlotInfo& slot : slots(form)) {
    const Words values = choices(slot, words);
    if (values.empty()) continue;
    std::vector<Words> longer;
    for (const Words& start : partial) {
      for (const std::string_view value : values) {
        longer.push_back(start);
        longer.back().push_back(value);
      }
    }
    partial = std::move(longer);
  }
  std::vector<const Spelling*> found;
  for (const Words& whole : partial) {
    const auto has = [&](std::string_view word) {
      return std::ranges::find(whole, word) != whole.end();
    };
    if (!std::ranges::all_of(words, has)) continue;
    const auto spelling = spell(form.opcode, whole, Detail::Verdict);
    if (!spelling) continue;
    const auto is_form = [&](const Candidate& one) { return one.form == &form; };
    if (std::ranges::any_of((*spelling)->candidates, is_form)) found.push_back(*spelling);
  }
  return found;
}

}  // namespace pyptx::isa
