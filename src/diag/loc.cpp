// SPDX-License-Identifier: Apache-2.0
#include "pyptx/diag/loc.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace pyptx::diag {
namespace {

struct Line {
  std::size_t begin = 0;
  std::size_t end = 0;  // without its line end
};

bool ends_line(std::string_view text, std::size_t at) {
  if (text[at] == '\n') return true;
  return text[at] == '\r' && (at + 1 == text.size() || text[at + 1] != '\n');
}

/// The line on which byte `at` stands; a line end belongs to the line it ends.
Line line_at(std::string_view text, std::size_t at) {
  std::size_t begin = std::min(at, text.size());
  while (begin > 0 && !ends_line(text, begin - 1)) --begin;
  const std::size_t end = std::min(text.find_first_of("\r\n", std::max(begin, at)), text.size());
  // At the LF of a CRLF the CR before it is no part of the line.
  return {begin, end > begin && end < text.size() && text[end] == '\n' && text[end - 1] == '\r'
                     ? end - 1
                     : end};
}

std::uint32_t line_ends(std::string_view text) {
  const auto feeds = std::count(text.begin(), text.end(), '\n');
  auto lone = std::ptrdiff_t{0};
  for (std::size_t at = text.find('\r'); at != std::string_view::npos;
       at = text.find('\r', at + 1)) {
    if (ends_line(text, at)) ++lone;
  }
  return static_cast<std::uint32_t>(feeds + lone);
}

}  // namespace

LocationTable::LocationTable() { entries_.emplace_back(); }

Loc LocationTable::text(std::uint32_t begin, std::uint32_t end) {
  entries_.push_back({begin, end, Kind::Text});
  return static_cast<Loc>(entries_.size() - 1);
}

Loc LocationTable::native(const char* file, std::uint32_t line) {
  entries_.push_back({reinterpret_cast<std::uintptr_t>(file), line, Kind::Native});
  return static_cast<Loc>(entries_.size() - 1);
}

void LocationTable::set_text(std::string file, std::string text) {
  file_ = std::move(file);
  text_ = std::move(text);
}

Place LocationTable::text_place(std::uint64_t begin, std::uint64_t end) const {
  begin = std::min<std::uint64_t>(begin, text_.size());
  end = std::clamp<std::uint64_t>(end, begin, text_.size());
  // The place ends where its last byte stands: a range that takes in the end of a line is still of
  // that line.
  const Line first = line_at(text_, begin);
  const Line last = end > begin ? line_at(text_, end - 1) : first;
  Place place;
  place.file = file_;
  place.line = 1 + line_ends(std::string_view(text_).substr(0, first.begin));
  place.column = static_cast<std::uint32_t>(begin - first.begin + 1);
  place.end_line =
      place.line + line_ends(std::string_view(text_).substr(first.begin, last.begin - first.begin));
  place.end_column =
      static_cast<std::uint32_t>(std::min<std::uint64_t>(end, last.end) - last.begin + 1);
  place.source_line = text_.substr(first.begin, first.end - first.begin);
  if (last.begin != first.begin) {
    place.end_source_line = text_.substr(last.begin, last.end - last.begin);
  }
  return place;
}

std::optional<TextRange> LocationTable::range(Loc loc, Focus focus) const {
  const auto index = static_cast<std::uint32_t>(loc);
  if ((index & kTokenBit) != 0 && tokens_) return tokens_->extent(index & ~kTokenBit, focus);
  if (index >= entries_.size() || entries_[index].kind != Kind::Text) return std::nullopt;
  return TextRange{static_cast<std::uint32_t>(entries_[index].a), entries_[index].b};
}

std::optional<Place> LocationTable::resolve(Loc loc, Focus focus) const {
  const auto index = static_cast<std::uint32_t>(loc);
  if ((index & kTokenBit) != 0 && tokens_) {
    const TextRange bytes = tokens_->extent(index & ~kTokenBit, focus);
    return text_place(bytes.begin, bytes.end);
  }
  if (index >= entries_.size()) return std::nullopt;
  const Entry& entry = entries_[index];
  switch (entry.kind) {
    case Kind::None:
      return std::nullopt;
    case Kind::Text:
      return text_place(entry.a, entry.b);
    case Kind::External:
      return resolver_ ? resolver_->resolve(entry.a, entry.b, focus) : std::nullopt;
    case Kind::Native: {
      Place place;
      place.file = reinterpret_cast<const char*>(static_cast<std::uintptr_t>(entry.a));
      place.line = entry.b;
      place.end_line = entry.b;
      return place;
    }
  }
  return std::nullopt;
}

}  // namespace pyptx::diag
