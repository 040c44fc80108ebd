// SPDX-License-Identifier: Apache-2.0
#include "arguments.h"

#include <algorithm>

namespace pyptx::cli {

std::optional<std::string_view> Arguments::option(std::string_view name) const {
  const auto found = options.find(name);
  if (found == options.end()) return std::nullopt;
  return found->second.back();
}

std::span<const std::string> Arguments::every(std::string_view name) const {
  const auto found = options.find(name);
  return found == options.end() ? std::span<const std::string>() : found->second;
}

std::optional<Arguments> read_arguments(std::span<const std::string> words,
                                        const Accepted& accepted, std::string& problem) {
  Arguments arguments;
  bool reads_options = true;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (!reads_options || word.size() < 2 || word[0] != '-') {
      arguments.positional.push_back(word);
      continue;
    }
    if (word == "--") {
      reads_options = false;
      continue;
    }
    const std::size_t equal = word.find('=');
    const std::string name = word.substr(0, equal);
    if (std::ranges::find(accepted.flags, name) != accepted.flags.end()) {
      if (equal != std::string::npos) {
        problem = name + " takes no value";
        return std::nullopt;
      }
      arguments.flags.insert(name);
    } else if (std::ranges::find(accepted.options, name) != accepted.options.end()) {
      if (equal == std::string::npos && i + 1 == words.size()) {
        problem = name + " needs a value";
        return std::nullopt;
      }
      arguments.options[name].push_back(equal == std::string::npos ? words[++i]
                                                                   : word.substr(equal + 1));
    } else {
      problem = "unknown option '" + word + "'";
      return std::nullopt;
    }
  }
  return arguments;
}

}  // namespace pyptx::cli
