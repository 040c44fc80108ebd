// SPDX-License-Identifier: Apache-2.0
//
// Classes of bytes in PTX text: ASCII, with no locale. PTX ISA, sections 4.1 and 4.4.
#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace pyptx::syntax {

inline constexpr std::uint8_t kBlank = 1;
inline constexpr std::uint8_t kDigit = 2;
inline constexpr std::uint8_t kLetter = 4;
inline constexpr std::uint8_t kNameMark = 8;  // _ and $: start a name and continue it
inline constexpr std::uint8_t kText = 16;     // allowed at all
inline constexpr std::uint8_t kHexLetter = 32;
inline constexpr std::uint8_t kNameByte = kLetter | kNameMark | kDigit;

inline constexpr std::array<std::uint8_t, 256> kByteClass = [] {
  std::array<std::uint8_t, 256> table{};
  for (int c = 0x20; c < 0x7F; ++c) table[c] = kText;
  for (const char c : {' ', '\t', '\n', '\r', '\f'}) {
    table[static_cast<std::uint8_t>(c)] = kText | kBlank;
  }
  for (int c = '0'; c <= '9'; ++c) table[c] |= kDigit;
  for (int c = 'a'; c <= 'z'; ++c) table[c] |= kLetter;
  for (int c = 'A'; c <= 'Z'; ++c) table[c] |= kLetter;
  for (int c = 'a'; c <= 'f'; ++c) table[c] |= kHexLetter;
  for (int c = 'A'; c <= 'F'; ++c) table[c] |= kHexLetter;
  for (const char c : {'_', '$'}) table[static_cast<std::uint8_t>(c)] |= kNameMark;
  return table;
}();

constexpr bool in_class(char c, int classes) {
  return (kByteClass[static_cast<std::uint8_t>(c)] & classes) != 0;
}
constexpr bool is_blank(char c) { return in_class(c, kBlank); }
constexpr bool is_line_end(char c) { return c == '\n' || c == '\r'; }
constexpr bool is_digit(char c) { return in_class(c, kDigit); }
constexpr bool is_hex_digit(char c) { return in_class(c, kDigit | kHexLetter); }
constexpr bool is_letter(char c) { return in_class(c, kLetter); }
constexpr bool is_name_byte(char c) { return in_class(c, kNameByte); }
constexpr bool is_text_byte(char c) { return in_class(c, kText); }

/// "0x0c", for messages about bytes that cannot be shown.
inline std::string byte_name(char c) {
  static constexpr char kHex[] = "0123456789abcdef";
  const auto byte = static_cast<std::uint8_t>(c);
  return {'0', 'x', kHex[byte >> 4], kHex[byte & 15]};
}

}  // namespace pyptx::syntax
