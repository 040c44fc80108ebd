// SPDX-License-Identifier: Apache-2.0
//
// The process-wide store of spellings: each opcode-with-modifiers is matched once and kept.
#include "pyptx/isa/spelling.h"

#include <memory>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>

#include "match.h"
#include "suggest.h"
#include "tables.h"

namespace pyptx::isa {
namespace {

/// Spellings by text. The map owns them for the life of the process, so readers hold no lock once
/// they have the pointer. Never destroyed: other statics may still hold spellings at exit.
class Store {
 public:
  static Store& get() {
    static Store* store = new Store;
    return *store;
  }
  const Spelling* find(std::string_view text) {
    const std::shared_lock lock(mutex_);
    const auto found = spellings_.find(text);
    return found == spellings_.end() ? nullptr : found->second.get();
  }
  /// Keeps `spelling` unless another thread kept an equal one first.
  const Spelling* keep(std::unique_ptr<Spelling> spelling) {
    const std::unique_lock lock(mutex_);
    const std::string_view key = spelling->text;
    return spellings_.try_emplace(key, std::move(spelling)).first->second.get();
  }

 private:
  std::shared_mutex mutex_;
  std::unordered_map<std::string_view, std::unique_ptr<Spelling>> spellings_;
};

diag::Result<const Spelling*> match(std::string_view opcode_text,
                                    std::span<const std::string_view> modifiers,
                                    std::string whole) {
  const std::optional<Opcode> opcode = find_opcode(opcode_text);
  if (!opcode) return diag::fail(unknown_opcode(opcode_text));
  auto spelling = std::make_unique<Spelling>();
  spelling->opcode = *opcode;
  spelling->text = std::move(whole);
  for (const std::string_view word : modifiers) {
    const std::optional<Modifier> modifier = find_modifier(word);
    if (!modifier) return diag::fail(explain_mismatch(*opcode, modifiers));
    spelling->modifiers.push_back(*modifier);
  }
  const tables::Range range = tables::kOpcodeForms[static_cast<std::size_t>(*opcode)];
  for (std::uint32_t i = range.first; i < range.first + range.count; ++i) {
    const tables::FormRow& form = tables::kFormRows[i];
    const auto binding = bind(form, spelling->modifiers);
    if (!binding || broken_rule(form, *binding, spelling->modifiers) != nullptr) continue;
    spelling->candidates.push_back(
        make_candidate(form, tables::kForms[i], *binding, spelling->modifiers));
  }
  if (spelling->candidates.empty()) return diag::fail(explain_mismatch(*opcode, modifiers));
  return Store::get().keep(std::move(spelling));
}

}  // namespace

diag::Result<const Spelling*> spell(std::string_view opcode,
                                    std::span<const std::string_view> modifiers) {
  std::string whole(opcode);
  for (const std::string_view word : modifiers) whole.append(".").append(word);
  if (const Spelling* known = Store::get().find(whole)) return known;
  return match(opcode, modifiers, std::move(whole));
}

diag::Result<const Spelling*> spell(std::string_view text) {
  if (const Spelling* known = Store::get().find(text)) return known;
  std::vector<std::string_view> words;
  std::string_view rest = text;
  for (std::size_t dot = rest.find('.'); dot != std::string_view::npos; dot = rest.find('.')) {
    words.push_back(rest.substr(0, dot));
    rest.remove_prefix(dot + 1);
  }
  words.push_back(rest);
  return match(words.front(), std::span(words).subspan(1), std::string(text));
}

}  // namespace pyptx::isa
