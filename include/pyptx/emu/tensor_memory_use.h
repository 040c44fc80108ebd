// SPDX-License-Identifier: Apache-2.0
//
// What happened to tensor memory, by column, when somebody counted.
#pragma once

#include <cstdint>
#include <string>

namespace pyptx::emu {

/// An allocation from tcgen05.alloc to dealloc, a load or store, or an operation from its issue to
/// its completion. Time is warp instructions that the cluster has run.
struct TensorMemoryUse {
  enum class Kind : std::uint8_t { Allocation, Load, Store, Multiply, Copy };
  Kind kind = Kind::Allocation;
  bool is_write = false;
  std::uint32_t cta = 0;     // in the cluster
  std::uint32_t warp = 0;    // in the CTA
  std::uint32_t halves = 0;  // bit i: lanes 16 i to 16 i + 15
  std::uint32_t first = 0;
  std::uint32_t columns = 0;
  std::uint64_t start = 0;
  std::uint64_t end = 0;
  std::string name;   // the instruction's spelling
  std::string place;  // "kernel.py:12"
};

}  // namespace pyptx::emu
