// SPDX-License-Identifier: Apache-2.0
#include "name_table.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <ranges>
#include <string_view>
#include <vector>

#include "character.h"

namespace pyptx::syntax {
namespace {

using support::Symbol;

constexpr std::size_t kMaxQuickPrefix = 8;
constexpr std::size_t kMaxRunDigits = 32;       // zeros in front included
constexpr std::uint32_t kMaxDigits = 9;         // every number of so many digits fits in 32 bits
constexpr std::uint32_t kDenseStep = 1U << 12;  // how far ahead the dense ids may reach

std::uint64_t packed(std::string_view prefix) {
  std::uint64_t word = 0;
  std::memcpy(&word, prefix.data(), std::min(prefix.size(), kMaxQuickPrefix));
  return word;
}

std::size_t quick_slot(std::uint64_t prefix) { return (prefix * 0x9E3779B97F4A7C15U) >> 60; }

}  // namespace

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
  for (std::uint32_t i = 0; i < scope.run_count; ++i) {
    const Run& run = runs_.back();
    heads_[static_cast<std::size_t>(run.prefix)] = run.outer;
    note_quick(module_.text(run.prefix), run.outer);
    runs_.pop_back();
  }
  if (scope.run_count != 0) run_depth_ = scope.outer_run_depth;
  scopes_.pop_back();
  if (scopes_.size() == 1) ambiguous_ = false;
}

std::optional<diag::TextRange> NameTable::declare(Symbol symbol, Name::Kind kind,
                                                  std::uint32_t index, std::uint32_t begin) {
  const std::string_view text = module_.text(symbol);
  if (const auto earlier = declared_here(text)) return earlier;
  Name& current = slot(names_, symbol, Name{});
  scopes_.back().names.push_back({symbol, current});
  current = {kind, index, depth(), begin};
  if (text.front() == '%' && is_digit(text.back())) ambiguous_ = true;
  return std::nullopt;
}

std::optional<diag::TextRange> NameTable::declare_run(Symbol prefix, std::uint32_t count,
                                                      Name::Kind kind, std::uint32_t index,
                                                      std::uint32_t begin) {
  std::uint32_t& head = slot(heads_, prefix, kNone);
  if (head != kNone && runs_[head].depth == depth()) return range_of(runs_[head]);
  if (const auto earlier = declared_in_run(module_.text(prefix), count)) return earlier;
  Scope& scope = scopes_.back();
  if (scope.run_count++ == 0) scope.outer_run_depth = run_depth_;
  runs_.push_back({prefix, count, index, depth(), begin, head, kind, {}, {}});
  head = static_cast<std::uint32_t>(runs_.size() - 1);
  run_depth_ = depth();
  const std::string_view text = module_.text(prefix);
  if (is_digit(text.back())) ambiguous_ = true;
  note_quick(text, head);
  return std::nullopt;
}

// A short prefix claims its slot, and frees it when its last run ends.
void NameTable::note_quick(std::string_view prefix, std::uint32_t run) {
  if (prefix.front() != '%' || prefix.size() > kMaxQuickPrefix) return;
  const std::uint64_t key = packed(prefix);
  QuickRun& quick = quick_[quick_slot(key)];
  if (quick.run != kNone && quick.prefix != key) return;
  const bool usable = run != kNone && runs_[run].kind == Name::Kind::Register;
  quick = usable ? QuickRun{key, run} : QuickRun{};
}

// %r12, where %r<20> is in scope: by far the most frequent name of all.
std::uint32_t NameTable::find_numbered(std::string_view text) {
  if (text.front() != '%' || ambiguous_) return kNone;
  std::size_t cut = 1;
  while (cut < text.size() && !is_digit(text[cut])) ++cut;
  const std::size_t digits = text.size() - cut;
  if (digits == 0 || digits > kMaxDigits || cut > kMaxQuickPrefix) return kNone;
  if (text[cut] == '0' && digits != 1) return kNone;
  std::uint32_t number = 0;
  for (std::size_t i = cut; i < text.size(); ++i) {
    if (!is_digit(text[i])) return kNone;
    number = number * 10 + static_cast<std::uint32_t>(text[i] - '0');
  }
  const std::uint64_t key = packed(text.substr(0, cut));
  const QuickRun& quick = quick_[quick_slot(key)];
  if (quick.run == kNone || quick.prefix != key) return kNone;
  Run& run = runs_[quick.run];
  return number < run.count ? register_of(run, number) : kNone;
}

std::uint32_t NameTable::register_of(Run& run, std::uint32_t number) {
  std::uint32_t* id = nullptr;
  if (number < run.dense.size()) {
    id = &run.dense[number];
  } else if (number < 2 * run.dense.size() + kDenseStep) {
    const std::size_t wanted = std::max<std::size_t>(number + 1, 2 * run.dense.size());
    run.dense.resize(std::min<std::size_t>(wanted, run.count), kNone);
    // Numbers that were too far ahead before keep their ids.
    if (!run.sparse.empty()) {
      for (const auto& [far, known] : run.sparse) {
        if (far < run.dense.size()) run.dense[far] = known;
      }
    }
    id = &run.dense[number];
  } else {
    id = &run.sparse.try_emplace(number, kNone).first->second;
  }
  if (*id == kNone) {
    *id = static_cast<std::uint32_t>(function_->registers.size());
    const ir::RegisterPool& pool = function_->pools[run.index];
    function_->registers.push_back(
        {pool.prefix, pool.declared, pool.declared, true, pool.vector, number});
  }
  return *id;
}

Name NameTable::find_single(std::string_view text) const {
  const auto symbol = static_cast<std::size_t>(module_.symbols.find(text));
  return symbol < names_.size() ? names_[symbol] : Name{};
}

Name NameTable::find_slowly(std::string_view text) {
  const Name single = find_single(text);
  if (single.kind != Name::Kind::None && single.depth >= run_depth_) return single;
  const auto [run, number] = find_in_runs(text, single);
  if (run == nullptr) return single;
  const bool is_register = run->kind == Name::Kind::Register;
  return {run->kind, is_register ? register_of(*run, number) : run->index, run->depth, run->begin};
}

// Looks without making a register of a run: a name that is being declared is no use of it.
std::optional<diag::TextRange> NameTable::declared_here(std::string_view text) {
  const Name single = find_single(text);
  if (single.kind != Name::Kind::None && single.depth == depth()) {
    return diag::TextRange{single.begin, single.begin + static_cast<std::uint32_t>(text.size())};
  }
  const Run* const run = find_in_runs(text, single).run;
  if (run == nullptr || run->depth != depth()) return std::nullopt;
  return range_of(*run);
}

// Names are indexed when a run follows them, which is rare: compilers declare the runs first. As
// ptxas sees it number 0 and labels are no obstacle.
std::optional<diag::TextRange> NameTable::declared_in_run(std::string_view prefix,
                                                          std::uint32_t count) {
  Scope& scope = scopes_.back();
  for (; scope.indexed < scope.names.size(); ++scope.indexed) {
    const Symbol symbol = scope.names[scope.indexed].symbol;
    const std::string_view text = module_.text(symbol);
    for (std::size_t cut = text.size(); cut > 1 && is_digit(text[cut - 1]);) {
      if (text.size() - --cut > kMaxDigits) break;
      if (text[cut] != '0') scope.numbered[text.substr(0, cut)].push_back(symbol);
    }
  }
  const auto found = scope.numbered.find(prefix);
  if (found == scope.numbered.end()) return std::nullopt;
  for (const Symbol symbol : found->second) {
    const std::string_view text = module_.text(symbol);
    const Name& name = names_[static_cast<std::size_t>(symbol)];
    std::uint32_t number = 0;
    std::from_chars(text.data() + prefix.size(), text.data() + text.size(), number);
    if (number >= count || name.kind == Name::Kind::Label) continue;
    return diag::TextRange{name.begin, name.begin + static_cast<std::uint32_t>(text.size())};
  }
  return std::nullopt;
}

diag::TextRange NameTable::range_of(const Run& run) const {
  const std::size_t size = module_.text(run.prefix).size();
  return {run.begin, run.begin + static_cast<std::uint32_t>(size)};
}

// The number may be cut off at several places (%r12 is register 12 of %r<20> or 2 of %r1<4>), and
// may have zeros in front; the innermost declaration wins, as for any name.
NameTable::RunName NameTable::find_in_runs(std::string_view text, const Name& single) {
  const bool found = single.kind != Name::Kind::None;
  RunName best;
  for (std::size_t cut = text.size(); cut > 1 && is_digit(text[cut - 1]);) {
    if (text.size() - --cut > kMaxRunDigits) break;
    std::uint32_t number = 0;
    const auto [end, error] = std::from_chars(text.data() + cut, text.data() + text.size(), number);
    if (error != std::errc{}) break;
    const auto prefix = static_cast<std::size_t>(module_.symbols.find(text.substr(0, cut)));
    if (prefix == 0 || prefix >= heads_.size()) continue;
    for (std::uint32_t at = heads_[prefix]; at != kNone; at = runs_[at].outer) {
      Run& run = runs_[at];
      if (number >= run.count || (found && run.depth <= single.depth)) continue;
      if (best.run == nullptr || run.depth > best.run->depth) best = {&run, number};
    }
  }
  return best;
}

}  // namespace pyptx::syntax
