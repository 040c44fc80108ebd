// SPDX-License-Identifier: Apache-2.0
//
// The words of one subcommand taken apart: flags, options with a value, and the rest. Refuses what
// the subcommand does not list.
#pragma once

#include <initializer_list>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace pyptx::cli {

struct Arguments {
  std::vector<std::string> positional;
  std::set<std::string, std::less<>> flags;
  std::map<std::string, std::vector<std::string>, std::less<>> options;

  bool has(std::string_view flag) const { return flags.contains(flag); }
  /// The last value given for it.
  std::optional<std::string_view> option(std::string_view name) const;
  /// All of them, in order.
  std::span<const std::string> every(std::string_view name) const;
};

/// What a subcommand takes; names with their dashes ("--json").
struct Accepted {
  std::initializer_list<std::string_view> flags;
  std::initializer_list<std::string_view> options;
};

/// The words, or in `problem` what is wrong with them. "--" ends the options; "-" is a positional.
std::optional<Arguments> read_arguments(std::span<const std::string> words,
                                        const Accepted& accepted, std::string& problem);

}  // namespace pyptx::cli
