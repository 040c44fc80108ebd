// SPDX-License-Identifier: Apache-2.0
#include "pyptx/support/nearest.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace pyptx::support {
namespace {

constexpr std::size_t kSuggestions = 3;
constexpr std::size_t kLongWord = 64;  // near nothing, and not worth a comparison

std::size_t common_prefix(std::string_view a, std::string_view b) {
  const auto end = std::ranges::mismatch(a, b).in1;
  return static_cast<std::size_t>(end - a.begin());
}

/// Whether so many edits leave `word` recognisable.
bool is_near(std::size_t distance, std::string_view word) {
  return distance < word.size() && distance <= std::max<std::size_t>(1, (word.size() + 1) / 3);
}

}  // namespace

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substitute = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substitute});
    }
  }
  return row[b.size()];
}

std::vector<std::string> nearest(std::string_view word, std::span<const std::string> known) {
  if (word.empty() || word.size() > kLongWord) return {};
  // Distance, then minus the common prefix, then the order given.
  std::vector<std::tuple<std::size_t, std::ptrdiff_t, std::size_t>> ranked;
  for (std::size_t i = 0; i < known.size(); ++i) {
    const std::size_t distance = edit_distance(word, known[i]);
    if (!is_near(distance, word)) continue;
    ranked.emplace_back(distance, -static_cast<std::ptrdiff_t>(common_prefix(word, known[i])), i);
  }
  std::ranges::sort(ranked);
  std::vector<std::string> names;
  for (const auto& [distance, prefix, i] : ranked) {
    if (names.size() == kSuggestions) break;
    if (std::ranges::find(names, known[i]) == names.end()) names.push_back(known[i]);
  }
  return names;
}

}  // namespace pyptx::support
