// SPDX-License-Identifier: Apache-2.0
//
// See format.h. Each conversion goes to the host's own printf with one value.
#include "sem/control/format.h"

#include <bit>
#include <cstdio>

namespace pyptx::emu {
namespace {

/// One conversion: "%-8.3lld" without its length.
struct Conversion {
  std::string flags;      // from the % on, with width and precision
  std::string shortness;  // "h", "hh"
  bool is_wide = false;
  char letter = 0;  // 0: the format ends inside it
};

bool is_one_of(std::string_view letters, char letter) {
  return letter != 0 && letters.find(letter) != std::string_view::npos;
}

template <typename Value>
std::string printed(const std::string& format, Value value) {
  const int size = std::snprintf(nullptr, 0, format.c_str(), value);
  if (size < 0) return {};
  std::string text(static_cast<std::size_t>(size), '\0');
  std::snprintf(text.data(), text.size() + 1, format.c_str(), value);
  return text;
}

class Formatter {
 public:
  Formatter(u64 values, FormatMemory& memory, Formatted& out)
      : next_(values), memory_(memory), out_(out) {}

  bool run(std::string_view format) {
    while (!format.empty()) {
      const std::size_t percent = format.find('%');
      out_.text += format.substr(0, percent);
      if (percent == std::string_view::npos) return true;
      format.remove_prefix(percent);
      if (format.starts_with("%%")) {
        out_.text += '%';
        format.remove_prefix(2);
        continue;
      }
      Conversion conversion;
      if (!take(format, conversion) || !convert(conversion)) return false;
    }
    return true;
  }

 private:
  /// A value of 4 or 8 bytes, at the next place aligned to that.
  bool value(u32 bytes, u64& bits) {
    if (out_.count == kMostValues) {
      out_.problem = "more than " + std::to_string(kMostValues) + " values in one call";
      return false;
    }
    next_ = (next_ + bytes - 1) / bytes * bytes;
    if (!memory_.read(next_, bytes, bits)) return false;
    next_ += bytes;
    ++out_.count;
    return true;
  }

  bool take(std::string_view& format, Conversion& found) {
    found.flags = "%";
    std::size_t at = 1;
    for (; at < format.size() && is_one_of("-+ #0123456789.*", format[at]); ++at) {
      if (format[at] != '*') {
        found.flags += format[at];
        continue;
      }
      u64 width = 0;
      if (!value(4, width)) return false;
      found.flags += std::to_string(static_cast<i32>(static_cast<u32>(width)));
    }
    if (!fits(found.flags)) return false;
    for (; at < format.size() && is_one_of("hlLjzt", format[at]); ++at) {
      if (format[at] == 'h') {
        found.shortness += 'h';
      } else {
        found.is_wide = true;
      }
    }
    if (at < format.size()) found.letter = format[at++];
    format.remove_prefix(at);
    return true;
  }

  /// Whether width and precision are numbers that a line has room for.
  bool fits(std::string_view flags) {
    u32 number = 0;
    for (const char c : flags) {
      const bool is_digit = c >= '0' && c <= '9';
      number = is_digit ? number * 10 + static_cast<u32>(c - '0') : 0;
      if (number <= kWidestField) continue;
      out_.problem = "a width or precision above " + std::to_string(kWidestField);
      return false;
    }
    return true;
  }

  bool convert(const Conversion& conversion) {
    u64 bits = 0;
    const std::string letter(1, conversion.letter);
    if (is_one_of("diuoxXc", conversion.letter)) {
      if (!value(conversion.is_wide ? 8 : 4, bits)) return false;
      out_.text += conversion.is_wide
                       ? printed(conversion.flags + "ll" + letter, static_cast<long long>(bits))
                       : printed(conversion.flags + conversion.shortness + letter,
                                 static_cast<i32>(static_cast<u32>(bits)));
      return true;
    }
    if (is_one_of("fFeEgGaA", conversion.letter)) {
      if (!value(8, bits)) return false;
      out_.text += printed(conversion.flags + letter, std::bit_cast<double>(bits));
      return true;
    }
    if (conversion.letter == 'p') {
      if (!value(8, bits)) return false;
      out_.text += printed(conversion.flags + letter, reinterpret_cast<const void*>(bits));
      return true;
    }
    if (conversion.letter == 's') {
      std::string text;
      if (!value(8, bits) || !memory_.read_text(bits, text)) return false;
      out_.text += printed(conversion.flags + letter, text.c_str());
      return true;
    }
    out_.text += conversion.flags;  // no conversion that a GPU knows: as it stands
    if (conversion.letter != 0) out_.text += letter;
    return true;
  }

  u64 next_;
  FormatMemory& memory_;
  Formatted& out_;
};

}  // namespace

bool format_values(std::string_view format, u64 values, FormatMemory& memory, Formatted& out) {
  return Formatter(values, memory, out).run(format);
}

}  // namespace pyptx::emu
