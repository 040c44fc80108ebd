// SPDX-License-Identifier: Apache-2.0
#include "line_index.h"

#include <algorithm>

namespace pyptx::diag {
namespace {

/// A look-up walks half a block on average; an index has one entry per block.
constexpr std::size_t kBlockBytes = 4096;

bool ends_line(std::string_view text, std::size_t at) {
  if (text[at] == '\n') return true;
  return text[at] == '\r' && (at + 1 == text.size() || text[at + 1] != '\n');
}

/// The line of byte `to`, from that of byte `from`.
LineStart walk(std::string_view text, LineStart line, std::size_t from, std::size_t to) {
  for (std::size_t at = from; at < to; ++at) {
    if (ends_line(text, at)) line = {line.number + 1, at + 1};
  }
  return line;
}

}  // namespace

void LineIndex::build(std::string_view text) const {
  blocks_.reserve(text.size() / kBlockBytes + 1);
  LineStart line;
  std::size_t at = 0;
  for (; at + kBlockBytes <= text.size(); at += kBlockBytes) {
    blocks_.push_back(line);
    line = walk(text, line, at, at + kBlockBytes);
  }
  blocks_.push_back(line);
}

LineStart LineIndex::line_of(std::string_view text, std::size_t at) const {
  std::call_once(built_, [&] { build(text); });
  at = std::min(at, text.size());
  const std::size_t block = at / kBlockBytes;
  return walk(text, blocks_[block], block * kBlockBytes, at);
}

}  // namespace pyptx::diag
