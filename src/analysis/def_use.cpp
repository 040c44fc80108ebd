// SPDX-License-Identifier: Apache-2.0
#include "pyptx/analysis/def_use.h"

#include <algorithm>
#include <cstddef>
#include <ranges>

namespace pyptx::analysis {
namespace {

std::size_t number(ir::RegisterId id) { return static_cast<std::size_t>(id); }

/// Those of `sites`, which are in the order of the body, that lie in [first, last).
std::span<const Site> within(std::span<const Site> sites, std::uint32_t first, std::uint32_t last) {
  const auto begin = std::ranges::lower_bound(sites, first, {}, &Site::statement);
  const auto end = std::ranges::lower_bound(begin, sites.end(), last, {}, &Site::statement);
  return {begin, end};
}

void sort_sites(std::vector<Site>& sites) {
  std::ranges::sort(sites, [](const Site& a, const Site& b) {
    return a.statement != b.statement ? a.statement < b.statement : a.index < b.index;
  });
  const auto rest = std::ranges::unique(sites);
  sites.erase(rest.begin(), rest.end());
}

}  // namespace

DefUse::DefUse(const Accesses& accesses, const ControlFlow& flow)
    : accesses_(accesses),
      flow_(flow),
      definitions_(accesses.registers()),
      uses_(accesses.registers()) {
  for (std::uint32_t i = 0; i < accesses.statements(); ++i) {
    for (const OperandUse& use : accesses.at(i)) {
      const std::size_t id = number(use.operand.register_id());
      if (use.writes()) definitions_[id].push_back({i, use.index});
      if (use.reads()) uses_[id].push_back({i, use.index});
    }
  }
}

std::span<const Site> DefUse::definitions(ir::RegisterId id) const {
  return definitions_[number(id)];
}

std::span<const Site> DefUse::uses(ir::RegisterId id) const { return uses_[number(id)]; }

bool DefUse::replaces(ir::RegisterId id, std::uint32_t statement) const {
  return std::ranges::any_of(accesses_.at(statement), [&](const OperandUse& use) {
    return use.operand.register_id() == id && accesses_.overwrites(statement, use);
  });
}

Reaching DefUse::reaching(ir::RegisterId id, std::uint32_t statement) const {
  Reaching found;
  // Takes what [first, last) of a block defines; whether something in it replaces the register.
  const auto search = [&](std::uint32_t first, std::uint32_t last) {
    for (const Site& site : std::views::reverse(within(definitions(id), first, last))) {
      found.definitions.push_back(site);
      if (replaces(id, site.statement)) return true;
    }
    return false;
  };
  std::vector<BlockId> pending;
  std::vector<bool> is_seen(flow_.blocks().size());
  const auto enter_before = [&](BlockId block) {
    if (block == kEntry) found.from_entry = true;
    for (const BlockId from : flow_.at(block).predecessors) {
      if (is_seen[static_cast<std::size_t>(from)]) continue;
      is_seen[static_cast<std::size_t>(from)] = true;
      pending.push_back(from);
    }
  };
  const BlockId here = flow_.block_of(statement);
  if (!search(flow_.at(here).first, statement)) enter_before(here);
  while (!pending.empty()) {
    const BlockId block = pending.back();
    pending.pop_back();
    if (!search(flow_.at(block).first, flow_.at(block).last)) enter_before(block);
  }
  sort_sites(found.definitions);
  return found;
}

std::vector<Site> DefUse::uses_of(ir::RegisterId id, std::uint32_t statement) const {
  std::vector<Site> found;
  // An instruction reads before it writes.
  const auto search = [&](std::uint32_t first, std::uint32_t last) {
    std::uint32_t end = last;
    for (const Site& site : within(definitions(id), first, last)) {
      if (!replaces(id, site.statement)) continue;
      end = site.statement + 1;
      break;
    }
    const auto reads = within(uses(id), first, end);
    found.insert(found.end(), reads.begin(), reads.end());
    return end != last || (last > first && replaces(id, last - 1));
  };
  std::vector<BlockId> pending;
  std::vector<bool> is_seen(flow_.blocks().size());
  const auto enter_behind = [&](BlockId block) {
    for (const BlockId to : flow_.at(block).successors) {
      if (is_seen[static_cast<std::size_t>(to)]) continue;
      is_seen[static_cast<std::size_t>(to)] = true;
      pending.push_back(to);
    }
  };
  const BlockId here = flow_.block_of(statement);
  if (!search(statement + 1, flow_.at(here).last)) enter_behind(here);
  while (!pending.empty()) {
    const BlockId block = pending.back();
    pending.pop_back();
    if (!search(flow_.at(block).first, flow_.at(block).last)) enter_behind(block);
  }
  sort_sites(found);
  return found;
}

}  // namespace pyptx::analysis
