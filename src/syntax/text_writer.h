// SPDX-License-Identifier: Apache-2.0
//
// The growing text of a module: one string, appended to, with a location per finished line. It
// knows characters and numbers; what a statement looks like is the printer's business.
#pragma once

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pyptx/diag/loc.h"

namespace pyptx::syntax {

class TextWriter {
 public:
  static constexpr unsigned kMaxIndent = 12;

  explicit TextWriter(std::vector<diag::Loc>* line_locs) : line_locs_(line_locs) {
    if (line_locs_ != nullptr) line_locs_->clear();
  }

  void reserve(std::size_t bytes) { text_.reserve(bytes); }

  TextWriter& operator<<(std::string_view text) {
    text_.append(text);
    return *this;
  }
  TextWriter& operator<<(char c) {
    text_.push_back(c);
    return *this;
  }

  template <typename Integer>
  void decimal(Integer value) {
    std::array<char, 24> digits;
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
    text_.append(digits.data(), end);
  }

  /// Exactly `digits` upper-case hexadecimal digits.
  void hexadecimal(std::uint64_t value, unsigned digits) {
    for (unsigned shift = digits * 4; shift != 0;) {
      shift -= 4;
      text_.push_back("0123456789ABCDEF"[(value >> shift) & 15]);
    }
  }

  /// Depth shows up to a point: without one, deep nesting would cost its square in blanks.
  void indent(unsigned depth) { text_.append(depth < kMaxIndent ? depth : kMaxIndent, '\t'); }

  void end_line(diag::Loc loc = diag::Loc::None) {
    text_.push_back('\n');
    if (line_locs_ != nullptr) line_locs_->push_back(loc);
  }

  /// Nothing may follow on the line that was ended last: a comment reaches to its end.
  void seal_line() { sealed_ = text_.size(); }
  /// Takes back the end of the last line, so that something can follow on it; false when it cannot.
  bool reopen_line() {
    reopened_ = diag::Loc::None;
    if (!text_.ends_with('\n') || sealed_ == text_.size()) return false;
    text_.pop_back();
    if (line_locs_ != nullptr && !line_locs_->empty()) {
      reopened_ = line_locs_->back();
      line_locs_->pop_back();
    }
    return true;
  }
  /// Where the line that was reopened came from.
  diag::Loc reopened() const { return reopened_; }

  /// Text that may hold several lines, each of which is finished.
  void lines(std::string_view text, diag::Loc loc = diag::Loc::None) {
    while (true) {
      const std::size_t end = text.find('\n');
      text_.append(text.substr(0, end));
      end_line(loc);
      if (end == std::string_view::npos || end + 1 == text.size()) return;
      text.remove_prefix(end + 1);
    }
  }

  std::string take() { return std::move(text_); }

 private:
  std::string text_;
  std::vector<diag::Loc>* line_locs_;
  diag::Loc reopened_ = diag::Loc::None;
  std::size_t sealed_ = 0;
};

}  // namespace pyptx::syntax
