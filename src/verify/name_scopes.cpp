// SPDX-License-Identifier: Apache-2.0
#include "name_scopes.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <ranges>

namespace pyptx::verify {
namespace {

bool is_digit_char(char c) { return c >= '0' && c <= '9'; }

/// The number behind `prefix`, if that and nothing else is there.
std::optional<std::uint64_t> number_behind(std::string_view text, std::string_view prefix) {
  if (!text.starts_with(prefix) || text.size() == prefix.size()) return std::nullopt;
  std::uint64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data() + prefix.size(), end, number);
  if (read.ec != std::errc{} || read.ptr != end) return std::nullopt;
  return number;
}

}  // namespace

std::uint32_t NameScopes::run_of(const Meaning& meaning) {
  if (meaning.pool != nullptr) return meaning.pool->count;
  if (meaning.variable != nullptr) return meaning.variable->run.value_or(0);
  return 0;
}

void NameScopes::close() {
  for (const Declared& declared : std::views::reverse(scopes_.back())) {
    auto& table = run_of(declared.meaning) != 0 ? runs_ : names_;
    table[declared.name].pop_back();
  }
  scopes_.pop_back();
}

bool NameScopes::declare(ir::Symbol name, Meaning meaning) {
  const std::string_view text = module_.text(name);
  const std::uint32_t run = run_of(meaning);
  // As for the reader, a label may have the name of a pooled register, which it hides.
  const auto falls_in_run = [&](const Declared& other) {
    if (other.meaning.kind == Meaning::Kind::Label) return false;
    const auto number = number_behind(module_.text(other.name), text);
    return run_of(other.meaning) == 0 && number && *number < run;
  };
  const auto is_same_run = [&](const Declared& other) {
    return run_of(other.meaning) != 0 && other.name == name;
  };
  if (run == 0) {
    const Meaning earlier = find(text);
    if (earlier.kind != Meaning::Kind::None && earlier.depth == depth()) return false;
  } else if (std::ranges::any_of(scopes_.back(), falls_in_run) ||
             std::ranges::any_of(scopes_.back(), is_same_run)) {
    return false;
  }
  meaning.depth = depth();
  (run != 0 ? runs_ : names_)[name].push_back(meaning);
  scopes_.back().push_back({name, meaning});
  return true;
}

Meaning NameScopes::find_in_runs(std::string_view text) const {
  Meaning found;
  // A prefix may end in digits too: %r1<4> has %r10 to %r13.
  for (std::size_t cut = text.size(); cut > 1 && is_digit_char(text[cut - 1]); --cut) {
    const std::string_view prefix = text.substr(0, cut - 1);
    const auto runs = runs_.find(module_.symbols.find(prefix));
    if (runs == runs_.end()) continue;
    const auto number = number_behind(text, prefix);
    for (const Meaning& run : runs->second) {
      if (number && *number < run_of(run) && run.depth >= found.depth) found = run;
    }
  }
  return found;
}

Meaning NameScopes::find(std::string_view text) const {
  const Meaning run = find_in_runs(text);
  const auto names = names_.find(module_.symbols.find(text));
  if (names == names_.end() || names->second.empty()) return run;
  const Meaning& single = names->second.back();
  return single.depth >= run.depth ? single : run;
}

}  // namespace pyptx::verify
