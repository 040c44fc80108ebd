// SPDX-License-Identifier: Apache-2.0
#include "name_table.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <ranges>
#include <string_view>
#include <vector>

#include "character.h"

namespace pyptx::syntax {

using support::Symbol;

template <typename T>
T& NameTable::slot(std::vector<T>& table, Symbol symbol, T fill) {
  const auto index = static_cast<std::size_t>(symbol);
  if (index >= table.size()) table.resize(std::max(index + 1, table.size() * 2), fill);
  return table[index];
}

void NameTable::close_scope() {
  const Scope& scope = scopes_.back();
  for (const HiddenName& hidden : std::views::reverse(scope.names)) {
    names_[static_cast<std::size_t>(hidden.symbol)] = hidden.previous;
  }
  for (std::uint32_t i = 0; i < scope.pool_count; ++i) {
    heads_[static_cast<std::size_t>(pools_.back().prefix)] = pools_.back().outer;
    pools_.pop_back();
  }
  if (scope.pool_count != 0) pool_depth_ = scope.outer_pool_depth;
  scopes_.pop_back();
}

// A register of an outer pool may be met first in an inner scope; its name belongs to the scope
// of the pool, so that the inner scope's end does not forget it.
void NameTable::bind(Symbol symbol, Name name) {
  Name& current = slot(names_, symbol, Name{});
  scopes_[name.depth].names.push_back({symbol, current});
  current = name;
}

bool NameTable::declare(Symbol symbol, Name::Kind kind, std::uint32_t index) {
  const Name found = find(module_.text(symbol));
  if (found.kind != Name::Kind::None && found.depth == depth()) return false;
  bind(symbol, {kind, index, depth()});
  return true;
}

bool NameTable::declare_pool(Symbol prefix, std::uint32_t pool) {
  std::uint32_t& head = slot(heads_, prefix, kNoPool);
  if (head != kNoPool && pools_[head].depth == depth()) return false;
  Scope& scope = scopes_.back();
  if (scope.pool_count++ == 0) scope.outer_pool_depth = pool_depth_;
  pools_.push_back({prefix, pool, depth(), head});
  head = static_cast<std::uint32_t>(pools_.size() - 1);
  pool_depth_ = depth();
  return true;
}

Name NameTable::find(std::string_view text) {
  const Symbol symbol = module_.symbols.find(text);
  Name name;
  if (symbol != Symbol::None && static_cast<std::size_t>(symbol) < names_.size()) {
    name = names_[static_cast<std::size_t>(symbol)];
  }
  const bool found = name.kind != Name::Kind::None;
  if (found && name.depth >= pool_depth_) return name;
  const Name pooled = find_pooled(text, name.depth, found);
  return pooled.kind == Name::Kind::None ? name : pooled;
}

// The number may be cut off at several places (%r12 is register 12 of %r<20> or 2 of %r1<4>); the
// innermost declaration wins, as for any name.
Name NameTable::find_pooled(std::string_view text, std::uint32_t deeper_than, bool found) {
  if (function_ == nullptr) return {};
  const Pool* best = nullptr;
  for (std::size_t cut = text.size(); cut > 1 && is_digit(text[cut - 1]);) {
    --cut;
    if (text[cut] == '0' && cut + 1 != text.size()) continue;
    std::uint32_t number = 0;
    const auto [end, error] = std::from_chars(text.data() + cut, text.data() + text.size(), number);
    if (error != std::errc{}) break;
    const auto prefix = static_cast<std::size_t>(module_.symbols.find(text.substr(0, cut)));
    if (prefix == 0 || prefix >= heads_.size()) continue;
    for (std::uint32_t at = heads_[prefix]; at != kNoPool; at = pools_[at].outer) {
      const Pool& pool = pools_[at];
      if (number >= function_->pools[pool.index].count) continue;
      if (found && pool.depth <= deeper_than) continue;
      if (best == nullptr || pool.depth > best->depth) best = &pool;
    }
  }
  if (best == nullptr) return {};
  const ir::RegisterPool& pool = function_->pools[best->index];
  const auto index = static_cast<std::uint32_t>(function_->registers.size());
  const Symbol symbol = module_.symbols.intern(text);
  function_->registers.push_back({symbol, pool.declared, pool.declared, true, pool.vector});
  const Name name{Name::Kind::Register, index, best->depth};
  bind(symbol, name);
  return name;
}

}  // namespace pyptx::syntax
