// SPDX-License-Identifier: Apache-2.0
//
// Words that a misspelt one may have been meant for, by the edits between them.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace pyptx::support {

/// Letters to insert, remove or replace to turn one word into the other.
std::size_t edit_distance(std::string_view a, std::string_view b);

/// At most three of `known` that are near to `word`, the nearest first; of equally near ones that
/// which begins like it.
std::vector<std::string> nearest(std::string_view word, std::span<const std::string> known);

}  // namespace pyptx::support
