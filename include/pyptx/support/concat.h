// SPDX-License-Identifier: Apache-2.0
//
// concat(...): strings and integers joined into one string, for messages. C++20's std::format is
// not in every standard library that builds this project.
#pragma once

#include <concepts>
#include <string>
#include <string_view>

namespace pyptx::support {

namespace detail {
inline void append_to(std::string& out, std::string_view text) { out.append(text); }
template <std::integral T>
void append_to(std::string& out, T number) {
  out.append(std::to_string(number));
}
void append_to(std::string& out, char) = delete;  // a letter or a number? say which
}  // namespace detail

/// The parts in one string.
template <typename... Parts>
std::string concat(const Parts&... parts) {
  std::string out;
  (detail::append_to(out, parts), ...);
  return out;
}

}  // namespace pyptx::support
