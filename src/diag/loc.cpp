// SPDX-License-Identifier: Apache-2.0
#include "pyptx/diag/loc.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace pyptx::diag {

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
  const auto line_begin = text_.rfind('\n', begin == 0 ? std::string::npos : begin - 1);
  const std::size_t first = (begin == 0 || line_begin == std::string::npos) ? 0 : line_begin + 1;
  const std::size_t last = std::min(text_.find('\n', begin), text_.size());
  Place place;
  place.file = file_;
  place.line = static_cast<std::uint32_t>(
      1 + std::count(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(first), '\n'));
  place.end_line = place.line;
  place.column = static_cast<std::uint32_t>(begin - first + 1);
  place.end_column = static_cast<std::uint32_t>(std::min<std::uint64_t>(end, last) - first + 1);
  place.source_line = text_.substr(first, last - first);
  return place;
}

std::optional<Place> LocationTable::resolve(Loc loc, Focus focus) const {
  const auto index = static_cast<std::uint32_t>(loc);
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
