// SPDX-License-Identifier: Apache-2.0
//
// Which words of a CTA's shared memory hold something: a bit per four bytes, and a run of words
// that are known to be written, so that an access inside it asks two numbers only. Bits are never
// taken back. Under the race detector, whose stamps say the same, it is not kept.
#pragma once

#include <vector>

#include "program.h"

namespace pyptx::emu {

class WrittenWords {
 public:
  /// Of `bytes` bytes; nothing is written yet.
  void start(u64 bytes) { bits_.assign(bytes / 128 + 2, 0); }
  bool is_kept() const { return !bits_.empty(); }

  /// Whether [first, end) is known to be written. False says nothing: ask `holds`.
  bool covers(u32 first, u32 end) const { return first >= run_first_ && end <= run_end_; }
  /// The run that is known to be written.
  u32 run_first() const { return run_first_; }
  u32 run_bytes() const { return run_end_ - run_first_; }
  /// Whether every word that [first, end) touches is written.
  bool holds(u32 first, u32 end) const;
  /// The same of sixteen bytes, `first` a multiple of them.
  bool holds_chunk(u32 first) const {
    return !is_kept() || ((bits_[first / 128] >> (first / 4 % 32)) & 15U) == 15U;
  }
  void add(u32 first, u32 end);
  /// To be called where `covers` was false and the word at `at` is written: now and then the run
  /// becomes the one around it.
  void learn(u32 at) {
    if ((learned_++ & 31U) == 0) find_run(at);
  }

 private:
  void find_run(u32 at);

  std::vector<u32> bits_;
  u32 run_first_ = 0;
  u32 run_end_ = 0;
  u32 learned_ = 0;
};

}  // namespace pyptx::emu
