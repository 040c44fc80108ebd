// SPDX-License-Identifier: Apache-2.0
//
// No parser of C++: words, dots, balanced parentheses. Of a call f(a, b) compilers name the column
// of `f` (clang) or of `(` (g++); of the operand of an operator that of its first token, or (g++)
// of its last one.
#include "native_source.h"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

namespace pyptx::diag {
namespace {

/// Bytes [begin, end) of the text.
struct Span {
  std::size_t begin = 0;
  std::size_t end = 0;
};

constexpr std::size_t kLongestCall = 4096;  // bytes that are looked through

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool is_open(char c) { return c == '(' || c == '[' || c == '{'; }
bool is_closing(char c) { return c == ')' || c == ']' || c == '}'; }

class Source {
 public:
  explicit Source(std::string_view text) : text_(text) {}

  char at(std::size_t i) const { return i < text_.size() ? text_[i] : '\0'; }

  /// Behind the literal or the comment that begins at `i`; `i` where none does.
  std::size_t skipped(std::size_t i) const {
    const char c = at(i);
    if (c == '"' || (c == '\'' && (i == 0 || !is_word(at(i - 1))))) {
      for (std::size_t j = i + 1; j < text_.size() && at(j) != '\n'; ++j) {
        if (at(j) == '\\') {
          ++j;
        } else if (at(j) == c) {
          return j + 1;
        }
      }
      return i + 1;
    }
    if (text_.substr(i, 2) == "//") return std::min(text_.find('\n', i), text_.size());
    if (text_.substr(i, 2) == "/*") return std::min(text_.find("*/", i + 2), text_.size() - 2) + 2;
    return i;
  }

  /// Behind the bracket that closes the one at `open`, with the arguments between them.
  std::size_t closed(std::size_t open, std::vector<Span>* arguments = nullptr) const {
    const std::size_t stop = std::min(text_.size(), open + kLongestCall);
    std::size_t depth = 0;
    std::size_t begin = open + 1;
    const auto add = [&](std::size_t end) {
      const Span found = trimmed({begin, end});
      if (arguments != nullptr && found.begin < found.end) arguments->push_back(found);
      begin = end + 1;
    };
    for (std::size_t i = open; i < stop;) {
      if (const std::size_t behind = skipped(i); behind != i) {
        i = behind;
        continue;
      }
      if (is_open(at(i))) ++depth;
      if (is_closing(at(i)) && --depth == 0) {
        add(i);
        return i + 1;
      }
      if (at(i) == ',' && depth == 1) add(i);
      ++i;
    }
    return open;
  }

  /// Where the name, with all that it is a member of, begins that ends at `end`: `inst::ld.at(p)`.
  std::size_t name_before(std::size_t end) const {
    std::size_t i = end;
    while (i > 0) {
      const char before = at(i - 1);
      if (is_word(before) || before == '.' || before == ':') {
        --i;
      } else if (before == '>' && i > 1 && at(i - 2) == '-') {
        i -= 2;
      } else if (is_closing(before)) {
        const std::size_t open = opened(i - 1);
        if (open == i - 1 || open == 0 || !(is_word(at(open - 1)) || is_closing(at(open - 1))))
          break;
        i = open;
      } else {
        break;
      }
    }
    return i;
  }

  /// Behind the name, index or literal that begins at `begin`, up to the `(` of a call.
  std::size_t name_after(std::size_t begin) const {
    std::size_t i = begin;
    while (at(i) == '-' || at(i) == '!' || at(i) == '~' || at(i) == '*' || at(i) == '&') ++i;
    for (;;) {
      if (is_word(at(i)) || at(i) == '.' ||
          (at(i) == ':' && (at(i + 1) == ':' || at(i - 1) == ':'))) {
        ++i;
      } else if (at(i) == '-' && at(i + 1) == '>') {
        i += 2;
      } else if (at(i) == '[' && closed(i) != i) {
        i = closed(i);
      } else {
        return i;
      }
    }
  }

  /// The bracket that the one at `close` closes; `close` where it is not near.
  std::size_t opened(std::size_t close) const {
    const std::size_t stop = close > kLongestCall ? close - kLongestCall : 0;
    std::size_t depth = 0;
    for (std::size_t i = close + 1; i-- > stop;) {
      if (is_closing(at(i))) ++depth;
      if (is_open(at(i)) && --depth == 0) return i;
    }
    return close;
  }

  Span trimmed(Span span) const {
    const auto is_blank = [&](std::size_t i) {
      return std::isspace(static_cast<unsigned char>(at(i))) != 0;
    };
    while (span.begin < span.end && is_blank(span.begin)) ++span.begin;
    while (span.end > span.begin && is_blank(span.end - 1)) --span.end;
    return span;
  }

 private:
  std::string_view text_;
};

/// A call, or an operand that is none, at a byte of it.
struct Found {
  Span whole;
  Span name;
  std::vector<Span> arguments;
};

Found look(const Source& source, std::size_t at) {
  Found found;
  if (is_closing(source.at(at))) at = source.opened(at);
  const bool is_parenthesis = is_open(source.at(at));
  const std::size_t begin = is_parenthesis ? source.name_before(at) : at;
  std::size_t end = is_parenthesis ? at : source.name_after(at);
  found.name = {begin, end};
  while (is_open(source.at(end)) && source.closed(end) != end) {
    found.arguments.clear();
    end = source.closed(end, &found.arguments);
    // One more follows a guard, .at(p)(...), and a member, ptx::special::tid.x().
    if (is_parenthesis) break;
    const std::size_t next = source.name_after(end);
    if (!is_open(source.at(next))) break;
    end = next;
  }
  if (const std::size_t literal = source.skipped(begin); literal != begin) end = literal;
  found.whole = {begin, end};
  return found;
}

/// Word number `index` behind the name's last "::".
Span modifier(const Source& source, Span name, std::size_t index) {
  std::size_t begin = name.begin;
  for (std::size_t i = name.begin; i + 1 < name.end; ++i) {
    if (source.at(i) == ':' && source.at(i + 1) == ':') begin = i + 2;
  }
  std::size_t dots = 0;
  for (std::size_t i = begin; i < name.end; ++i) {
    if (source.at(i) == '(') break;
    if (source.at(i) != '.') continue;
    if (dots++ != index) continue;
    std::size_t end = i + 1;
    while (end < name.end && is_word(source.at(end))) ++end;
    return {i + 1, end};
  }
  return name;
}

Span narrowed(const Source& source, const Found& found, Focus focus) {
  switch (focus.part) {
    case Focus::Part::Operand:
      if (focus.index < found.arguments.size()) return found.arguments[focus.index];
      break;
    case Focus::Part::Modifier:
      return modifier(source, found.name, focus.index);
    case Focus::Part::Opcode:
    case Focus::Part::Spelling:
      if (found.name.begin < found.name.end) return found.name;
      break;
    case Focus::Part::Whole:
    case Focus::Part::Guard:
    case Focus::Part::Argument:
      break;
  }
  return found.whole;
}

std::string contents(const char* file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

}  // namespace

Place native_place(const char* file, std::uint32_t line, std::uint32_t column, Focus focus) {
  Place place;
  place.file = file;
  place.line = line;
  place.column = column;
  place.end_line = line;
  place.end_column = column == 0 ? 0 : column + 1;
  const std::string text = contents(file);
  std::size_t begin = 0;
  for (std::uint32_t i = 1; i < line && begin < text.size(); ++i) {
    begin = std::min(text.find('\n', begin), text.size() - 1) + 1;
  }
  if (begin >= text.size()) return place;
  std::size_t end = std::min(text.find_first_of("\r\n", begin), text.size());
  place.source_line = text.substr(begin, end - begin);
  if (column == 0 || column > place.source_line.size()) return place;
  const Source source(text);
  const Span shown = narrowed(source, look(source, begin + column - 1), focus);
  // What stands on a later line is shown there; what goes on behind its line is cut.
  while (shown.begin > end) {
    begin = text.find('\n', end) + 1;
    end = std::min(text.find_first_of("\r\n", begin), text.size());
    ++place.line;
  }
  if (shown.begin < begin) return place;  // a call whose name is on the line before
  place.source_line = text.substr(begin, end - begin);
  place.end_line = place.line;
  place.column = static_cast<std::uint32_t>(shown.begin - begin + 1);
  place.end_column = static_cast<std::uint32_t>(std::min(shown.end, end) - begin + 1);
  return place;
}

}  // namespace pyptx::diag
