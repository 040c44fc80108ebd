// SPDX-License-Identifier: Apache-2.0
//
// Named element types (see the header).
#include "pyptx/interop/types.h"

#include <algorithm>

namespace pyptx::interop {

bool is_type_name(std::string_view dtype) {
  return !dtype.empty() && dtype.front() >= 'A' && dtype.front() <= 'Z';
}

std::optional<std::string_view> Types::find(std::string_view name) const {
  const auto row = std::ranges::find(rows_, name, &Row::first);
  return row == rows_.end() ? std::nullopt : std::optional<std::string_view>(row->second);
}

std::optional<std::string_view> Types::resolve(std::string_view dtype) const {
  return is_type_name(dtype) ? find(dtype) : dtype;
}

}  // namespace pyptx::interop
