// SPDX-License-Identifier: Apache-2.0
//
// Tensor memory of one CTA (PTX ISA, "Tensor Memory"): 128 lanes of 512 words, allocated by
// columns, and which words have been written. A pair of CTAs allocates together: the two calls meet
// here.
#pragma once

#include <array>
#include <bitset>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "decode/program.h"

namespace pyptx::emu {

inline constexpr u32 kTensorLanes = 128;
inline constexpr u32 kTensorColumns = 512;
inline constexpr u32 kTensorUnit = 32;  // columns of the least allocation

/// An address: the lane in the upper half, the column in the lower.
struct TensorAddress {
  u32 lane = 0;
  u32 column = 0;
  static TensorAddress of(u32 bits) { return {bits >> 16, bits & 0xFFFFU}; }
};
std::string tensor_text(u32 lane, u32 column);

/// What one warp of a pair asks for, until the other comes.
struct PairCall {
  Warp* warp = nullptr;  // null: nobody is here
  const Inst* inst = nullptr;
  u32 columns = 0;
  u64 address = 0;  // of the slot or of what is freed
};

class TensorMemory {
 public:
  struct Allocation {
    u32 first = 0;
    u32 columns = 0;
    const Inst* inst = nullptr;
  };

  /// The words of a lane; there must be an allocation.
  u32* row(u32 lane) { return words_.data() + std::size_t{lane} * kTensorColumns; }
  bool is_allocated(u32 first, u32 columns) const;
  /// The first free place for so many columns.
  std::optional<u32> fit(u32 columns) const;
  void allocate(u32 first, u32 columns, const Inst& inst);
  /// False: there is no such allocation.
  bool free(u32 first, u32 columns);
  const std::vector<Allocation>& allocations() const { return allocations_; }
  u32 free_columns() const;

  void mark(u32 lane, u32 column, u32 count) {
    std::memset(written_.data() + std::size_t{lane} * kTensorColumns + column, 1, count);
  }
  /// What was written there is a value that nobody wrote.
  void undefine(u32 lane, u32 column, u32 count) {
    std::memset(written_.data() + std::size_t{lane} * kTensorColumns + column, 2, count);
  }
  /// The first of `count` columns that nothing was written to; `count` when there is none.
  u32 first_unwritten(u32 lane, u32 column, u32 count) const {
    const u8* from = written_.data() + std::size_t{lane} * kTensorColumns + column;
    const void* found = std::memchr(from, 0, count);
    return found == nullptr ? count : static_cast<u32>(static_cast<const u8*>(found) - from);
  }
  bool is_written(u32 lane, u32 column) const { return first_unwritten(lane, column, 1) == 1; }
  bool is_defined(u32 lane, u32 column) const {
    return written_[std::size_t{lane} * kTensorColumns + column] == 1;
  }

  const Inst* relinquished = nullptr;
  u32 last_columns = kTensorColumns;  // of the last allocation: none may be larger
  /// Of the even CTA of a pair: calls of both, and how many have met.
  std::array<PairCall, 2> allocates;
  std::array<PairCall, 2> frees;
  u64 allocated_pairs = 0;
  u64 freed_pairs = 0;

 private:
  std::vector<u32> words_;   // made by the first allocation
  std::vector<u8> written_;  // of each word: 0 never, 1 a value, 2 one that nobody wrote
  std::vector<Allocation> allocations_;
  std::bitset<kTensorColumns / kTensorUnit> taken_;
};

}  // namespace pyptx::emu
