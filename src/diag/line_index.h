// SPDX-License-Identifier: Apache-2.0
//
// Which line a byte of a text stands on, without counting from its beginning each time: one entry
// per block of the text, made when the first line is asked for. Lines end at LF, CRLF or a lone CR.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string_view>
#include <vector>

namespace pyptx::diag {

struct LineStart {
  std::uint32_t number = 1;  // from 1
  std::size_t begin = 0;
};

class LineIndex {
 public:
  /// The line of byte `at` (at most the text's size); a line end belongs to the line it ends.
  /// `text` must be the same in every call. Threads may ask at once.
  LineStart line_of(std::string_view text, std::size_t at) const;

 private:
  void build(std::string_view text) const;

  mutable std::once_flag built_;
  mutable std::vector<LineStart> blocks_;  // of the first byte of each block
};

}  // namespace pyptx::diag
