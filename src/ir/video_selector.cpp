// SPDX-License-Identifier: Apache-2.0
#include "pyptx/ir/video_selector.h"

#include <algorithm>
#include <cstdint>
#include <string_view>

namespace pyptx::ir {

std::int64_t video_selector(std::string_view text) {
  const bool is_selector =
      text.size() >= 2 && text.size() <= 5 && (text[0] == 'b' || text[0] == 'h') &&
      std::ranges::all_of(text.substr(1), [](char c) { return c >= '0' && c <= '7'; });
  if (!is_selector) return 0;
  std::int64_t packed = 0;
  for (std::size_t i = text.size(); i > 0; --i) packed = packed << 8 | text[i - 1];
  return packed;
}

}  // namespace pyptx::ir
