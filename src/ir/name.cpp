// SPDX-License-Identifier: Apache-2.0
#include "pyptx/ir/name.h"

#include <algorithm>
#include <string_view>

namespace pyptx::ir {
namespace {

// ASCII, with no locale.
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool may_follow(char c) { return is_letter(c) || (c >= '0' && c <= '9') || c == '_' || c == '$'; }

}  // namespace

bool is_identifier(std::string_view text) {
  if (text.empty() || text == "WARP_SZ") return false;
  const char first = text.front();
  const bool is_mark = first == '_' || first == '$' || first == '%';
  if (!is_letter(first) && !(is_mark && text.size() > 1)) return false;
  return std::ranges::all_of(text.substr(1), may_follow);
}

}  // namespace pyptx::ir
