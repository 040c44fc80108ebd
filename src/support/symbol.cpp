// SPDX-License-Identifier: Apache-2.0
#include "pyptx/support/symbol.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

namespace pyptx::support {
namespace {

constexpr std::size_t kFirstSlots = 64;
constexpr std::size_t kBlockBytes = std::size_t{1} << 14;

std::uint64_t load(const char* from, std::size_t bytes) {
  std::uint64_t word = 0;
  std::memcpy(&word, from, bytes);
  return word;
}

std::uint64_t mix(std::uint64_t value) {
  value *= 0x9E3779B97F4A7C15U;
  return value ^ (value >> 29);
}

}  // namespace

std::uint64_t hash_text(std::string_view text) {
  const char* at = text.data();
  std::size_t left = text.size();
  std::uint64_t hash = mix(left + 0x51ED270B);
  for (; left > 8; at += 8, left -= 8) hash = mix(hash ^ load(at, 8));
  hash = mix(hash ^ (left == 8 ? load(at, 8) : load(at, left)));
  return hash ^ (hash >> 32);
}

SymbolTable::SymbolTable() : texts_(1), slots_(kFirstSlots) {}

SymbolTable::SymbolTable(const SymbolTable& other) : slots_(other.slots_) {
  texts_.reserve(other.texts_.size());
  texts_.emplace_back();  // of Symbol::None
  for (std::size_t i = 1; i < other.texts_.size(); ++i) texts_.push_back(store(other.texts_[i]));
}

SymbolTable& SymbolTable::operator=(const SymbolTable& other) {
  SymbolTable copy(other);
  *this = std::move(copy);
  return *this;
}

// The slot of `text`, or the free slot where it would be put.
std::size_t SymbolTable::probe(std::string_view text, std::uint64_t hash) const {
  const std::size_t mask = slots_.size() - 1;
  const auto part = static_cast<std::uint32_t>(hash >> 32);
  std::size_t at = hash & mask;
  while (slots_[at].symbol != Symbol::None) {
    if (slots_[at].hash == part && texts_[static_cast<std::uint32_t>(slots_[at].symbol)] == text) {
      break;
    }
    at = (at + 1) & mask;
  }
  return at;
}

Symbol SymbolTable::intern(std::string_view text) {
  if (text.empty()) return Symbol::None;
  const std::uint64_t hash = hash_text(text);
  std::size_t at = probe(text, hash);
  if (slots_[at].symbol != Symbol::None) return slots_[at].symbol;
  if (texts_.size() * 2 >= slots_.size()) {
    grow();
    at = probe(text, hash);
  }
  const auto symbol = static_cast<Symbol>(texts_.size());
  texts_.push_back(store(text));
  slots_[at] = {static_cast<std::uint32_t>(hash >> 32), symbol};
  return symbol;
}

Symbol SymbolTable::find(std::string_view text) const {
  if (text.empty()) return Symbol::None;
  return slots_[probe(text, hash_text(text))].symbol;
}

void SymbolTable::grow() {
  std::vector<Slot> old(slots_.size() * 2);
  old.swap(slots_);
  const std::size_t mask = slots_.size() - 1;
  for (const Slot& slot : old) {
    if (slot.symbol == Symbol::None) continue;
    std::size_t at = hash_text(text(slot.symbol)) & mask;
    while (slots_[at].symbol != Symbol::None) at = (at + 1) & mask;
    slots_[at] = slot;
  }
}

// Texts are copied into blocks that never move; a large one gets a block of its own.
std::string_view SymbolTable::store(std::string_view text) {
  if (text.size() > block_left_) {
    const std::size_t bytes = std::max(text.size(), kBlockBytes);
    blocks_.push_back(std::make_unique_for_overwrite<char[]>(bytes));
    if (bytes == kBlockBytes || block_left_ == 0) {
      block_at_ = blocks_.back().get();
      block_left_ = bytes;
    } else {
      std::memcpy(blocks_.back().get(), text.data(), text.size());
      return {blocks_.back().get(), text.size()};
    }
  }
  std::memcpy(block_at_, text.data(), text.size());
  const std::string_view stored(block_at_, text.size());
  block_at_ += text.size();
  block_left_ -= text.size();
  return stored;
}

}  // namespace pyptx::support
