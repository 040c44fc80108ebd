// SPDX-License-Identifier: Apache-2.0
//
// See mutate.h.
#include "mutate.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace pyptx::fuzz {
namespace {

struct Range {
  std::size_t begin = 0;
  std::size_t end = 0;
};

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '%' || c == '$';
}

/// Words that start with a digit, or those that start with one of `first`.
std::vector<Range> words(std::string_view text, std::string_view first) {
  std::vector<Range> found;
  for (std::size_t i = 0; i < text.size();) {
    if (!is_word(text[i])) {
      ++i;
      continue;
    }
    std::size_t end = i;
    while (end < text.size() && is_word(text[end])) ++end;
    if (first.find(text[i]) != std::string_view::npos) found.push_back({i, end});
    i = end;
  }
  return found;
}

std::vector<Range> lines(std::string_view text) {
  std::vector<Range> found;
  for (std::size_t i = 0; i < text.size();) {
    std::size_t end = text.find('\n', i);
    end = end == std::string_view::npos ? text.size() : end + 1;
    found.push_back({i, end});
    i = end;
  }
  return found;
}

/// Lines of bodies: declarations seldom survive a move.
std::vector<Range> statements(std::string_view text) {
  auto found = lines(text);
  std::erase_if(found, [&](const Range& line) {
    const std::string_view words_of = text.substr(line.begin, line.end - line.begin);
    return words_of.find(';') == std::string_view::npos || words_of.starts_with('.');
  });
  return found;
}

/// Where sums and products of sizes go wrong.
std::uint64_t number(Random& random) {
  constexpr std::array<std::uint64_t, 14> kEdges = {
      0,    1,     2,          3,          5,          16,         32,
      1024, 65536, 227 * 1024, 1ULL << 24, 1ULL << 31, 1ULL << 32, 1ULL << 63};
  std::uint64_t value = kEdges[random.below(kEdges.size())];
  if (random.below(2) == 0) value += random.below(9) - 4;
  if (random.below(16) == 0) value = random.next() >> random.below(64);
  return value;
}

std::string with(std::string_view text, Range where, std::string_view instead) {
  std::string out(text.substr(0, where.begin));
  out += instead;
  out += text.substr(where.end);
  return out;
}

/// Where the header ends: a text of another version or target is mostly no text at all.
std::size_t after_header(std::string_view text) {
  const std::size_t at = text.find(".address_size");
  return at == std::string_view::npos ? 0 : std::min(text.find('\n', at), text.size());
}

std::string change_number(std::string_view text, Random& random) {
  const std::size_t begin = random.below(16) == 0 ? 0 : after_header(text);
  const auto found = words(text.substr(begin), "0123456789");
  if (found.empty()) return std::string(text);
  const Range where = found[random.below(found.size())];
  return with(text, {begin + where.begin, begin + where.end}, std::to_string(number(random)));
}

/// What two words of a kind share: the letters of a register, the dot of a modifier.
std::string_view kind_of(std::string_view text, Range word) {
  if (word.begin > 0 && text[word.begin - 1] == '.') return ".";
  if (text[word.begin] != '%') return {};
  std::size_t end = word.begin;
  while (end < word.end && std::isdigit(static_cast<unsigned char>(text[end])) == 0) ++end;
  return text.substr(word.begin, end - word.begin);
}

/// A word becomes another, mostly one of its kind: a register, a modifier, a name.
std::string change_word(std::string_view text, Random& random) {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz_ABCDEFGHIJKLMNOPQRSTUVWXYZ";
  const auto found = words(text, random.below(4) != 0 ? "%" : kLetters);
  if (found.size() < 2) return std::string(text);
  const Range to = found[random.below(found.size())];
  Range from = found[random.below(found.size())];
  for (int tries = 0; tries < 16 && kind_of(text, from) != kind_of(text, to); ++tries) {
    from = found[random.below(found.size())];
  }
  return with(text, to, text.substr(from.begin, from.end - from.begin));
}

/// A line goes, comes twice, or moves.
std::string change_line(std::string_view text, Random& random) {
  const auto found = lines(text);
  if (found.size() < 4) return std::string(text);
  const Range from = found[random.below(found.size())];
  const Range to = found[random.below(found.size())];
  const std::string_view line = text.substr(from.begin, from.end - from.begin);
  switch (random.below(3)) {
    case 0:
      return with(text, from, "");
    case 1:
      return with(text, {to.begin, to.begin}, line);
    default:
      return with(text, to, line);
  }
}

/// The first line is the launch: "//" and numbers. See emulate.h.
std::string change_launch(std::string_view text, Random& random) {
  const auto found = lines(text);
  if (found.empty() || !text.starts_with("//")) return std::string(text);
  const std::string_view line = text.substr(0, found[0].end);
  const auto numbers = words(line, "0123456789");
  if (numbers.empty()) return std::string(text);
  const std::size_t which = random.below(numbers.size());
  // Clusters of one to five CTAs, odd ones among them.
  const std::uint64_t value =
      which < 9 && random.below(8) != 0 ? 1 + random.below(5) : number(random);
  return with(text, numbers[which], std::to_string(value));
}

}  // namespace

std::uint64_t Random::next() {
  std::uint64_t z = (state_ += 0x9E3779B97F4A7C15ULL);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
  return z ^ (z >> 31);
}

std::string mutate(std::string_view text, Random& random) {
  std::string out(text);
  for (std::uint64_t left = 1 + random.below(4); left > 0; --left) {
    switch (random.below(8)) {
      case 0:
      case 1:
        out = change_launch(out, random);
        break;
      case 2:
      case 3:
      case 4:
        out = change_number(out, random);
        break;
      case 5:
        out = change_line(out, random);
        break;
      default:
        out = change_word(out, random);
    }
  }
  return out;
}

std::string cross(std::string_view text, std::string_view other, Random& random) {
  const auto from = statements(other);
  const auto to = statements(text);
  if (from.empty() || to.empty()) return std::string(text);
  const Range first = from[random.below(from.size())];
  const std::size_t count = 1 + random.below(3);
  std::size_t end = first.end;
  for (std::size_t i = 1; i < count; ++i) {
    const std::size_t next = other.find('\n', end);
    end = next == std::string_view::npos ? other.size() : next + 1;
  }
  const std::size_t at = to[random.below(to.size())].begin;
  return with(text, {at, at}, other.substr(first.begin, end - first.begin));
}

}  // namespace pyptx::fuzz
