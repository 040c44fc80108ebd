// SPDX-License-Identifier: Apache-2.0
//
// Interned strings. A Symbol is a 32-bit number that stands for a name inside one SymbolTable;
// equal names have equal symbols, so the IR compares and copies numbers only. Tables are not
// shared between threads: each module owns one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace pyptx::support {

/// A name, by its number in a table.
enum class Symbol : std::uint32_t { None = 0 };

/// A hash of a short text, for tables in memory only: it differs between machines.
std::uint64_t hash_text(std::string_view text);

/// The names of one module.
class SymbolTable {
 public:
  SymbolTable();
  /// The same symbols for the same texts, in memory of its own.
  SymbolTable(const SymbolTable& other);
  SymbolTable& operator=(const SymbolTable& other);
  SymbolTable(SymbolTable&&) noexcept = default;
  SymbolTable& operator=(SymbolTable&&) noexcept = default;
  ~SymbolTable() = default;

  /// The symbol of `text`, made on first sight. The empty string is Symbol::None.
  Symbol intern(std::string_view text);
  /// The symbol of `text` if it was interned, else Symbol::None.
  Symbol find(std::string_view text) const;
  /// The text of `symbol`; valid as long as the table lives.
  std::string_view text(Symbol symbol) const { return texts_[static_cast<std::uint32_t>(symbol)]; }
  /// One more than the largest symbol.
  std::size_t size() const { return texts_.size(); }

 private:
  // A slot holds a part of the hash, so that most misses are told without reading the text.
  struct Slot {
    std::uint32_t hash = 0;
    Symbol symbol = Symbol::None;
  };
  std::size_t probe(std::string_view text, std::uint64_t hash) const;
  std::string_view store(std::string_view text);
  void grow();

  std::vector<std::string_view> texts_;
  std::vector<Slot> slots_;  // a power of two, at most half full
  std::vector<std::unique_ptr<char[]>> blocks_;
  std::size_t block_left_ = 0;
  char* block_at_ = nullptr;
};

}  // namespace pyptx::support
