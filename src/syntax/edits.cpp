// SPDX-License-Identifier: Apache-2.0
#include "pyptx/syntax/edits.h"

#include <ranges>

namespace pyptx::syntax {

Edits::Kept::Kept(const NewInstruction& given)
    : instruction(given), operands(given.operands.begin(), given.operands.end()) {
  instruction.operands = {};
}

NewInstruction Edits::Kept::view() const {
  NewInstruction result = instruction;
  result.operands = operands;
  return result;
}

void Edits::insert(std::size_t at, const NewInstruction& instruction) {
  changes_[at].before.emplace_back(instruction);
}

void Edits::replace(std::size_t at, const NewInstruction& instruction) {
  Change& change = changes_[at];
  change.instead.emplace(instruction);
  change.is_erased = false;
}

void Edits::erase(std::size_t at) {
  Change& change = changes_[at];
  change.instead.reset();
  change.is_erased = true;
}

// From the end, so that the indices in front still hold.
void Edits::apply(Document& document) const {
  for (const auto& [first, change] : std::views::reverse(changes_)) {
    std::size_t at = first;
    for (const Kept& instruction : change.before) {
      document.insert(function_, at++, instruction.view());
    }
    if (change.instead) document.replace(function_, at, change.instead->view());
    if (change.is_erased) document.erase(function_, at);
  }
}

}  // namespace pyptx::syntax
