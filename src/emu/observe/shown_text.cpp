// SPDX-License-Identifier: Apache-2.0
//
// A tile that was shown, as text. See pyptx/emu/shown.h.
#include <algorithm>

#include "decode/program.h"
#include "pyptx/emu/shown.h"

namespace pyptx::emu {
namespace {

constexpr u64 kMostColumns = 16;
constexpr u64 kMostRows = 32;

/// The numbers to show of `count`: all, or the first and the last half of `most`. ~0 is a gap.
std::vector<u64> chosen(u64 count, u64 most) {
  std::vector<u64> all;
  for (u64 i = 0; i < count; ++i) {
    if (count > most && i == most / 2) {
      all.push_back(~0ULL);
      i = count - most / 2;
    }
    all.push_back(i);
  }
  return all;
}

std::string right_aligned(const std::string& text, std::size_t width) {
  return text.size() >= width ? text : std::string(width - text.size(), ' ') + text;
}

std::string matrix(const ShownTile& tile, u64 first, u64 rows, u64 columns) {
  const std::vector<u64> lines = chosen(rows, kMostRows);
  const std::vector<u64> across = chosen(columns, kMostColumns);
  const auto word = [&](u64 row, u64 column) -> std::string {
    if (row == ~0ULL || column == ~0ULL) return "..";
    return tile.elements[first + row * columns + column];
  };
  std::size_t width = 2;
  for (const u64 row : lines) {
    for (const u64 column : across) width = std::max(width, word(row, column).size());
  }
  std::string text;
  for (const u64 row : lines) {
    text += right_aligned(row == ~0ULL ? ".." : std::to_string(row), 6) + " |";
    for (const u64 column : across) text += " " + right_aligned(word(row, column), width);
    text += "\n";
  }
  return text;
}

}  // namespace

std::string to_text(const ShownTile& tile) {
  std::string text = tile.name + ": " + tile.type;
  for (std::size_t i = 0; i < tile.shape.size(); ++i) {
    text += (i == 0 ? " " : " x ") + std::to_string(tile.shape[i]);
  }
  if (tile.swizzle != "none") text += ", swizzle " + tile.swizzle;
  text += ", CTA (" + std::to_string(tile.cta[0]) + "," + std::to_string(tile.cta[1]) + "," +
          std::to_string(tile.cta[2]) + ")";
  if (tile.pass > 1) text += ", pass " + std::to_string(tile.pass);
  if (!tile.place.empty()) text += ", " + tile.place;
  text += "\n";
  const u64 columns = tile.shape.empty() ? 1 : tile.shape.back();
  const u64 rows = tile.shape.size() < 2 ? 1 : tile.shape[tile.shape.size() - 2];
  const u64 size = std::max<u64>(1, rows * columns);
  for (u64 stage = 0; stage * size < tile.elements.size(); ++stage) {
    if (tile.elements.size() > size) text += " [" + std::to_string(stage) + "]\n";
    text += matrix(tile, stage * size, rows, columns);
  }
  return text;
}

}  // namespace pyptx::emu
