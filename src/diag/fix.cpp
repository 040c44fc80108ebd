// SPDX-License-Identifier: Apache-2.0
#include "pyptx/diag/fix.h"

#include <algorithm>
#include <string_view>

namespace pyptx::diag {
namespace {

struct Edit {
  TextRange range;
  const FixIt* fixit;
};

bool before(const Edit& a, const Edit& b) {
  if (a.range.begin != b.range.begin) return a.range.begin < b.range.begin;
  return a.range.end > b.range.end;
}

}  // namespace

Fixed apply_fixits(const LocationTable& table, std::span<const FixIt> fixits) {
  const std::string_view text = table.text();
  std::vector<Edit> edits;
  for (const FixIt& fixit : fixits) {
    const auto range = table.range(fixit.loc, fixit.focus);
    if (range && range->begin <= range->end && range->end <= text.size()) {
      edits.push_back({*range, &fixit});
    }
  }
  std::ranges::stable_sort(edits, before);
  Fixed fixed;
  std::size_t done = 0;  // bytes of the text already copied or replaced
  const Edit* last = nullptr;
  for (const Edit& edit : edits) {
    // Two insertions at one point, or a second repair of the same bytes, would stack up.
    if (edit.range.begin < done || (last != nullptr && last->range == edit.range)) continue;
    fixed.text += text.substr(done, edit.range.begin - done);
    fixed.text += edit.fixit->replacement;
    done = edit.range.end;
    last = &edit;
    ++fixed.applied;
  }
  fixed.text += text.substr(done);
  fixed.skipped = fixits.size() - fixed.applied;
  return fixed;
}

std::vector<FixIt> chosen_fixits(std::span<const Diagnostic> diagnostics, bool only_certain) {
  std::vector<FixIt> chosen;
  for (const Diagnostic& diagnostic : diagnostics) {
    const auto found = std::ranges::find_if(diagnostic->fixits, [&](const FixIt& fixit) {
      return fixit.loc != Loc::None && (fixit.is_certain || !only_certain);
    });
    if (found != diagnostic->fixits.end()) chosen.push_back(*found);
  }
  return chosen;
}

}  // namespace pyptx::diag
