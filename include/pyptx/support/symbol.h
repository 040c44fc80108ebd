// SPDX-License-Identifier: Apache-2.0
//
// Interned strings. A Symbol is a 32-bit number that stands for a name inside one SymbolTable;
// equal names have equal symbols, so the IR compares and copies numbers only. Tables are not
// shared between threads: each module owns one.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>

namespace pyptx::support {

enum class Symbol : std::uint32_t { None = 0 };

class SymbolTable {
 public:
  SymbolTable();
  SymbolTable(const SymbolTable&) = delete;
  SymbolTable& operator=(const SymbolTable&) = delete;
  SymbolTable(SymbolTable&&) noexcept = default;
  SymbolTable& operator=(SymbolTable&&) noexcept = default;
  ~SymbolTable() = default;

  /// The symbol of `text`, made on first sight. The empty string is Symbol::None.
  Symbol intern(std::string_view text);
  /// The symbol of `text` if it was interned, else Symbol::None.
  Symbol find(std::string_view text) const;
  /// The text of `symbol`; valid as long as the table lives.
  std::string_view text(Symbol symbol) const;

 private:
  std::deque<std::string> texts_;  // deque: the views below must survive growth
  std::unordered_map<std::string_view, Symbol> ids_;
};

}  // namespace pyptx::support
