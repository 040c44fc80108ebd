// SPDX-License-Identifier: Apache-2.0
//
// Values of dimensions, and shapes as they are shown (see the header).
#include "pyptx/interop/sizes.h"

#include <algorithm>

namespace pyptx::interop {

std::optional<std::int64_t> Sizes::find(std::string_view name) const {
  const auto found = std::ranges::find(rows_, name, &Row::first);
  return found == rows_.end() ? std::nullopt : std::optional(found->second);
}

std::string SizeRules::text(std::span<const std::int64_t> shape) const {
  std::vector<std::string> parts;
  parts.reserve(shape.size());
  for (const std::int64_t size : shape) parts.push_back(text(size));
  return tuple_text(parts);
}

const SizeRules& plain_sizes() {
  static const SizeRules rules;
  return rules;
}

std::string tuple_text(std::span<const std::string> parts) {
  std::string out = "(";
  for (const std::string& part : parts) {
    if (out.size() > 1) out += ", ";
    out += part;
  }
  return out + (parts.size() == 1 ? ",)" : ")");
}

}  // namespace pyptx::interop
