// SPDX-License-Identifier: Apache-2.0
//
// Spellings by their text in the source, so that the process-wide store is asked once per text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "pyptx/isa/spelling.h"
#include "pyptx/support/symbol.h"

namespace pyptx::syntax {

class SpellingCache {
 public:
  SpellingCache() : slots_(256) {}

  struct Slot {
    std::string_view text;
    std::uint64_t hash = 0;
    const isa::Spelling* spelling = nullptr;
  };

  /// The slot of `text`, whose spelling is null where it has not been stored.
  Slot& find(std::string_view text) {
    const std::uint64_t hash = support::hash_text(text);
    Slot* slot = &probe(text, hash);
    if (slot->spelling == nullptr && count_ * 2 >= slots_.size()) {
      grow();
      slot = &probe(text, hash);
    }
    slot->hash = hash;
    return *slot;
  }
  /// `text` has to outlive the cache. The slot is the one that find() gave last.
  void store(Slot& slot, std::string_view text, const isa::Spelling* spelling) {
    slot.text = text;
    slot.spelling = spelling;
    ++count_;
  }

 private:
  Slot& probe(std::string_view text, std::uint64_t hash) {
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = hash & mask;
    while (slots_[at].spelling != nullptr && (slots_[at].hash != hash || slots_[at].text != text)) {
      at = (at + 1) & mask;
    }
    return slots_[at];
  }
  void grow() {
    std::vector<Slot> old(slots_.size() * 2);
    old.swap(slots_);
    for (const Slot& slot : old) {
      if (slot.spelling != nullptr) probe(slot.text, slot.hash) = slot;
    }
  }

  std::vector<Slot> slots_;  // a power of two, at most half full
  std::size_t count_ = 0;
};

}  // namespace pyptx::syntax
