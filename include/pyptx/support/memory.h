// SPDX-License-Identifier: Apache-2.0
//
// Memory of arrays that grow to megabytes and are let go together, over and over. A fresh page
// costs more than the instructions that fit on it, so that large blocks are kept, a bounded number
// of bytes per thread, for the next array of that thread. It is no general allocator.
#pragma once

#include <cstddef>

namespace pyptx::support {

/// A block of memory.
struct Memory {
  void* data = nullptr;
  std::size_t bytes = 0;
};

/// Blocks from this size on are kept when they are released, and at most so many bytes of them per
/// thread. A kernel of 50,000 instructions takes 6 MiB.
inline constexpr std::size_t kKeptBlock = std::size_t{64} << 10;
inline constexpr std::size_t kKeptPerThread = std::size_t{16} << 20;

/// A block of at least `bytes` that begins with what `old` holds; `old` is gone. Throws
/// std::bad_alloc where there is no memory.
Memory grow_memory(Memory old, std::size_t bytes);
/// Gives a block back. Any thread may; an empty one is nothing.
void release_memory(Memory block) noexcept;
/// Bytes that this thread keeps.
std::size_t kept_memory() noexcept;

}  // namespace pyptx::support
