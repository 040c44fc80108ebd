// SPDX-License-Identifier: Apache-2.0
//
// Which bytes of a CTA's shared memory hold a value: a bit per byte, and a run of bytes that are
// known to, so that an access inside it asks two numbers only. A store of a value that nobody
// wrote takes bits back.
#pragma once

#include <vector>

#include "decode/program.h"

namespace pyptx::emu {

class DefinedBytes {
 public:
  /// Of `bytes` bytes; none has a value yet. `is_judged`: the race detector judges every access
  /// too, so that none may go by the open run.
  void start(u64 bytes, bool is_judged) {
    bits_.assign(bytes / kCell + 2, 0);
    is_judged_ = is_judged;
  }

  /// Whether [first, end) is known to be defined. False says nothing: ask `holds`.
  bool covers(u32 first, u32 end) const { return first >= run_first_ && end <= run_end_; }
  /// The run that is known to be defined, for accesses that nobody judges.
  u32 run_first() const { return run_first_; }
  u32 open_bytes() const { return open_bytes_; }
  /// Whether every byte of [first, end) is defined.
  bool holds(u32 first, u32 end) const { return covers(first, end) || missing(first, end) == end; }
  /// The first byte of [first, end) without a value; `end` where there is none.
  u32 missing(u32 first, u32 end) const;
  /// The same of sixteen bytes, `first` a multiple of them.
  bool holds_chunk(u32 first) const {
    return ((bits_[first / kCell] >> (first % kCell)) & 0xFFFFU) == 0xFFFFU;
  }
  /// The bytes from `first` on that have no value, a bit each; `count` is at most 32.
  u32 undefined(u32 first, u32 count) const;
  void add(u32 first, u32 end);
  void remove(u32 first, u32 end);
  /// To be called where `covers` was false and the byte at `at` is defined: now and then the run
  /// becomes the one around it.
  void learn(u32 at) {
    if ((learned_++ & 31U) == 0) find_run(at);
  }

 private:
  static constexpr u32 kCell = 64;  // bytes that one word of the map stands for

  void find_run(u32 at);

  std::vector<u64> bits_;
  u32 run_first_ = 0;
  u32 run_end_ = 0;
  u32 open_bytes_ = 0;
  u32 learned_ = 0;
  bool is_judged_ = false;
};

}  // namespace pyptx::emu
