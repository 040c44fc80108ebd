// SPDX-License-Identifier: Apache-2.0
//
// The process-wide store of spellings: each opcode-with-modifiers is matched once and kept. What is
// illegal is never kept.
#include "pyptx/isa/spelling.h"

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>

#include "match.h"
#include "suggest.h"
#include "tables.h"

namespace pyptx::isa {
namespace {

/// Spellings by text: an open hash table that readers walk without a lock. It only grows; a full
/// table is replaced by a larger one and stays allocated, since a reader may still be in it, so all
/// tables together hold at most twice the last. Never destroyed: other statics may hold spellings.
class Store {
 public:
  static Store& get() {
    static Store* store = new Store;
    return *store;
  }

  const Spelling* find(std::string_view text) const {
    const std::size_t hash = std::hash<std::string_view>{}(text);
    const Table* table = table_.load(std::memory_order_acquire);
    for (std::size_t at = hash & table->mask;; at = (at + 1) & table->mask) {
      const Interned* entry = table->entries[at].load(std::memory_order_acquire);
      if (entry == nullptr) return nullptr;
      if (entry->hash == hash && entry->spelling->text == text) return entry->spelling.get();
    }
  }

  /// Keeps `spelling` unless another thread kept an equal one first.
  const Spelling* keep(std::unique_ptr<Spelling> spelling) {
    const std::scoped_lock lock(mutex_);
    if (const Spelling* known = find(spelling->text)) return known;
    if (2 * (count_ + 1) > tables_.back()->mask) grow();
    const std::size_t hash = std::hash<std::string_view>{}(spelling->text);
    const auto* entry = new Interned{hash, std::move(spelling)};
    insert(*tables_.back(), entry);
    ++count_;
    return entry->spelling.get();
  }

 private:
  struct Interned {
    std::size_t hash = 0;
    std::unique_ptr<Spelling> spelling;
  };
  struct Table {
    explicit Table(std::size_t size) : mask(size - 1), entries(size) {}
    std::size_t mask;
    std::vector<std::atomic<const Interned*>> entries;
  };

  Store() { publish(std::make_unique<Table>(4096)); }

  void publish(std::unique_ptr<Table> table) {
    tables_.push_back(std::move(table));
    table_.store(tables_.back().get(), std::memory_order_release);
  }

  static void insert(Table& table, const Interned* entry) {
    std::size_t at = entry->hash & table.mask;
    while (table.entries[at].load(std::memory_order_relaxed) != nullptr) at = (at + 1) & table.mask;
    table.entries[at].store(entry, std::memory_order_release);
  }

  void grow() {
    auto larger = std::make_unique<Table>(2 * (tables_.back()->mask + 1));
    for (const auto& slot : tables_.back()->entries) {
      if (const Interned* entry = slot.load(std::memory_order_relaxed)) insert(*larger, entry);
    }
    publish(std::move(larger));
  }

  std::atomic<const Table*> table_{nullptr};
  std::mutex mutex_;  // of writers
  std::vector<std::unique_ptr<Table>> tables_;
  std::size_t count_ = 0;
};

void add_candidates(Spelling& spelling) {
  const OpcodeIndex& index = OpcodeIndex::of(spelling.opcode);
  const auto first = static_cast<std::size_t>(index.rows().data() - tables::kFormRows.data());
  for (std::size_t form = 0; form < index.rows().size(); ++form) {
    const auto match = bind_form(index, form, spelling.modifiers);
    if (!match || match->broken != nullptr) continue;
    spelling.candidates.push_back(make_candidate(index.rows()[form], tables::kForms[first + form],
                                                 match->binding, spelling.modifiers));
  }
}

diag::Result<const Spelling*> match(std::string_view whole, std::string_view opcode_text,
                                    std::span<const std::string_view> words, Detail detail) {
  const std::optional<Opcode> opcode = find_opcode(opcode_text);
  if (!opcode) return diag::fail(unknown_opcode(opcode_text, detail));
  const OpcodeIndex& index = OpcodeIndex::of(*opcode);
  std::vector<Modifier> modifiers;
  modifiers.reserve(words.size());
  for (const std::string_view word : words) {
    const std::optional<Modifier> modifier = find_modifier(word);
    if (!modifier || index.local(*modifier) < 0) {
      return diag::fail(explain_mismatch(*opcode, words, detail));
    }
    modifiers.push_back(*modifier);
  }
  auto spelling = std::make_unique<Spelling>();
  spelling->opcode = *opcode;
  spelling->modifiers = std::move(modifiers);
  add_candidates(*spelling);
  if (spelling->candidates.empty()) {
    spelling->modifiers = without_repeats(spelling->modifiers);
    spelling->is_doubled = spelling->modifiers.size() < words.size();
    if (spelling->is_doubled) add_candidates(*spelling);
  }
  if (spelling->candidates.empty()) {
    return diag::fail(explain_mismatch(*opcode, words, detail));
  }
  spelling->text = whole;
  return Store::get().keep(std::move(spelling));
}

}  // namespace

diag::Result<const Spelling*> spell(std::string_view opcode,
                                    std::span<const std::string_view> modifiers, Detail detail) {
  std::string whole(opcode);
  for (const std::string_view word : modifiers) whole.append(".").append(word);
  if (const Spelling* known = Store::get().find(whole)) return known;
  return match(whole, opcode, modifiers, detail);
}

diag::Result<const Spelling*> spell(std::string_view text, Detail detail) {
  if (const Spelling* known = Store::get().find(text)) return known;
  std::vector<std::string_view> words;
  std::string_view rest = text;
  for (std::size_t dot = rest.find('.'); dot != std::string_view::npos; dot = rest.find('.')) {
    words.push_back(rest.substr(0, dot));
    rest.remove_prefix(dot + 1);
  }
  words.push_back(rest);
  return match(text, words.front(), std::span(words).subspan(1), detail);
}

const Spelling* find_spelling(std::string_view text) { return Store::get().find(text); }

}  // namespace pyptx::isa
