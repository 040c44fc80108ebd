// SPDX-License-Identifier: Apache-2.0
#include "pyptx/diag/loc.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "line_index.h"
#include "native_source.h"

namespace pyptx::diag {
namespace {

/// Of a longer line a place keeps what is around its column: a text may be one line.
constexpr std::size_t kKeptBytes = 4096;

/// Bytes [begin, end) of the line that begins at `line`, of which byte `at` is shown.
TextRange kept(std::string_view text, std::size_t line, std::size_t at) {
  const std::size_t begin = at - line > kKeptBytes / 2 ? at - kKeptBytes / 2 : line;
  std::size_t end = std::min(text.substr(0, std::min(text.size(), begin + kKeptBytes))
                                 .find_first_of("\r\n", std::max(begin, at)),
                             std::min(text.size(), begin + kKeptBytes));
  // At the LF of a CRLF the CR before it is no part of the line.
  if (end > begin && end < text.size() && text[end] == '\n' && text[end - 1] == '\r') --end;
  return {static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end)};
}

}  // namespace

LocationTable::LocationTable() : lines_(std::make_shared<const LineIndex>()) {
  entries_.push_back({});
}

Loc LocationTable::text(std::uint32_t begin, std::uint32_t end) {
  entries_.push_back({begin, end, Kind::Text});
  return static_cast<Loc>(entries_.size() - 1);
}

void LocationTable::set_text(std::string file, std::string text) {
  file_ = std::move(file);
  text_ = std::move(text);
  lines_ = std::make_shared<const LineIndex>();
}

Place LocationTable::text_place(std::uint64_t begin, std::uint64_t end) const {
  begin = std::min<std::uint64_t>(begin, text_.size());
  end = std::clamp<std::uint64_t>(end, begin, text_.size());
  // The place ends where its last byte stands: a range that takes in the end of a line is still of
  // that line.
  const std::uint64_t final = end > begin ? end - 1 : begin;
  const LineStart first = lines_->line_of(text_, begin);
  const LineStart last = lines_->line_of(text_, final);
  const TextRange first_kept = kept(text_, first.begin, begin);
  const TextRange last_kept = kept(text_, last.begin, final);
  const auto shown = [&](TextRange range) {
    return text_.substr(range.begin, range.end - range.begin);
  };
  Place place;
  place.file = file_;
  place.line = first.number;
  place.column = static_cast<std::uint32_t>(begin - first.begin + 1);
  place.end_line = last.number;
  place.end_column =
      static_cast<std::uint32_t>(std::min<std::uint64_t>(end, last_kept.end) - last.begin + 1);
  place.source_line = shown(first_kept);
  place.source_skipped = static_cast<std::uint32_t>(first_kept.begin - first.begin);
  if (last.begin != first.begin) {
    place.end_source_line = shown(last_kept);
    place.end_source_skipped = static_cast<std::uint32_t>(last_kept.begin - last.begin);
  }
  return place;
}

const LocationTable::Record* LocationTable::author(Loc loc) const {
  auto index = static_cast<std::uint32_t>(loc);
  while (index < entries_.size() && entries_[index].kind == Kind::Expansion) {
    index = entries_[index].b;
  }
  return index < entries_.size() ? &entries_[index] : nullptr;
}

std::vector<std::string_view> LocationTable::expansions(Loc loc) const {
  std::vector<std::string_view> helpers;
  auto index = static_cast<std::uint32_t>(loc);
  while (index < entries_.size() && entries_[index].kind == Kind::Expansion) {
    helpers.emplace_back(
        reinterpret_cast<const char*>(static_cast<std::uintptr_t>(entries_[index].a)));
    index = entries_[index].b;
  }
  return helpers;
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
  const Record* const found = author(loc);
  if (found == nullptr) return std::nullopt;
  const Record& entry = *found;
  switch (entry.kind) {
    case Kind::None:
    case Kind::Expansion:
      return std::nullopt;
    case Kind::Text:
      return text_place(entry.a, entry.b);
    case Kind::External:
      return resolver_ ? resolver_->resolve(entry.a, entry.b, focus) : std::nullopt;
    case Kind::Native:
      return native_place(reinterpret_cast<const char*>(static_cast<std::uintptr_t>(entry.a)),
                          entry.b, entry.column, {});
    case Kind::NativeInstruction:
      return native_place(reinterpret_cast<const char*>(static_cast<std::uintptr_t>(entry.a)),
                          entry.b, entry.column, focus);
  }
  return std::nullopt;
}

std::optional<SourcePoint> LocationTable::point(Loc loc) const {
  const Record* const found = author(loc);
  if (found == nullptr) return std::nullopt;
  const Record& entry = *found;
  if (entry.kind == Kind::External && resolver_) return resolver_->point(entry.a, entry.b);
  if (entry.kind != Kind::Native && entry.kind != Kind::NativeInstruction) return std::nullopt;
  return SourcePoint{reinterpret_cast<const char*>(static_cast<std::uintptr_t>(entry.a)), entry.b,
                     entry.column};
}

std::optional<SourcePoint> LocationTable::line(Loc loc) const {
  auto bytes = range(loc);
  if (!bytes) {
    const Record* const found = author(loc);
    if (found == nullptr || found->kind != Kind::Text) return point(loc);
    bytes = TextRange{static_cast<std::uint32_t>(found->a), found->b};  // behind an expansion
  }
  return SourcePoint{file_, lines_->line_of(text_, bytes->begin).number};
}

}  // namespace pyptx::diag
