// SPDX-License-Identifier: Apache-2.0
#include "pyptx/support/symbol.h"

#include <cstdint>
#include <string_view>

namespace pyptx::support {

SymbolTable::SymbolTable() {
  texts_.emplace_back();
  ids_.emplace(std::string_view(texts_.back()), Symbol::None);
}

Symbol SymbolTable::intern(std::string_view text) {
  if (const auto it = ids_.find(text); it != ids_.end()) return it->second;
  const auto symbol = static_cast<Symbol>(texts_.size());
  texts_.emplace_back(text);
  ids_.emplace(std::string_view(texts_.back()), symbol);
  return symbol;
}

Symbol SymbolTable::find(std::string_view text) const {
  const auto it = ids_.find(text);
  return it == ids_.end() ? Symbol::None : it->second;
}

std::string_view SymbolTable::text(Symbol symbol) const {
  return texts_[static_cast<std::uint32_t>(symbol)];
}

}  // namespace pyptx::support
