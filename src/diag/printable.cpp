// SPDX-License-Identifier: Apache-2.0
#include "printable.h"

namespace pyptx::diag {
namespace {

bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; }

/// Calls `sink(piece, columns)` for each character, escaped where it must be.
template <typename Sink>
void each_character(std::string_view text, Sink&& sink) {
  static constexpr char kHex[] = "0123456789abcdef";
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    const auto byte = static_cast<unsigned char>(text[0]);
    const bool prints = length > 1 || (length == 1 && (byte >= 0x20 || byte == '\t'));
    if (prints && byte != 0x7F) {
      sink(text.substr(0, length), std::size_t{1});
      text.remove_prefix(length);
    } else {
      const char escaped[] = {'\\', 'x', kHex[byte >> 4], kHex[byte & 15]};
      sink(std::string_view(escaped, sizeof escaped), sizeof escaped);
      text.remove_prefix(1);
    }
  }
}

}  // namespace

std::size_t utf8_length(std::string_view text) {
  if (text.empty()) return 0;
  const auto byte = static_cast<unsigned char>(text[0]);
  std::size_t length = 0;
  if (byte < 0x80) {
    length = 1;
  } else if (byte >= 0xC2 && byte <= 0xDF) {
    length = 2;
  } else if (byte >= 0xE0 && byte <= 0xEF) {
    length = 3;
  } else if (byte >= 0xF0 && byte <= 0xF4) {
    length = 4;
  }
  if (length == 0 || length > text.size()) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if (!is_continuation(text[i])) return 0;
  }
  if (length < 3) return length;
  const auto second = static_cast<unsigned char>(text[1]);
  // Overlong forms, surrogates and what lies beyond U+10FFFF are no characters.
  if ((byte == 0xE0 && second < 0xA0) || (byte == 0xED && second > 0x9F) ||
      (byte == 0xF0 && second < 0x90) || (byte == 0xF4 && second > 0x8F)) {
    return 0;
  }
  return length;
}

std::string printable(std::string_view text) {
  std::string out;
  each_character(text, [&](std::string_view piece, std::size_t) { out += piece; });
  return out;
}

std::string blank_like(std::string_view text) {
  std::string out;
  each_character(text, [&](std::string_view piece, std::size_t columns) {
    out += piece == "\t" ? std::string(1, '\t') : std::string(columns, ' ');
  });
  return out;
}

std::size_t column_count(std::string_view text) {
  std::size_t count = 0;
  each_character(text, [&](std::string_view, std::size_t columns) { count += columns; });
  return count;
}

}  // namespace pyptx::diag
