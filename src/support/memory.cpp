// SPDX-License-Identifier: Apache-2.0
#include "pyptx/support/memory.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

namespace pyptx::support {
namespace {

constexpr std::size_t kFirstBlock = 512;

/// The blocks a thread keeps; the thread's end frees them.
class Kept {
 public:
  Kept() = default;
  Kept(const Kept&) = delete;
  Kept& operator=(const Kept&) = delete;
  ~Kept() {
    for (const Memory& block : blocks_) std::free(block.data);
    is_gone = true;
  }

  /// The smallest block of at least `bytes`, else an empty one.
  Memory take(std::size_t bytes) {
    Memory* best = nullptr;
    for (Memory& block : blocks_) {
      if (block.bytes < bytes || (best != nullptr && best->bytes <= block.bytes)) continue;
      best = &block;
    }
    if (best == nullptr) return {};
    total_ -= best->bytes;
    return std::exchange(*best, {});
  }

  bool put(Memory block) {
    if (total_ + block.bytes > kKeptPerThread) return false;
    const auto place = std::ranges::find(blocks_, nullptr, &Memory::data);
    if (place == blocks_.end()) return false;
    *place = block;
    total_ += block.bytes;
    return true;
  }

  std::size_t total() const { return total_; }

  /// Arrays outlive the thread's objects where they are static.
  static thread_local bool is_gone;

 private:
  std::array<Memory, 16> blocks_{};
  std::size_t total_ = 0;
};

thread_local bool Kept::is_gone = false;
thread_local Kept kept;

Memory taken(std::size_t bytes) {
  if (Kept::is_gone || bytes > kKeptPerThread) return {};
  return kept.take(bytes);
}

}  // namespace

Memory grow_memory(Memory old, std::size_t bytes) {
  bytes = std::max({bytes, old.bytes * 2, kFirstBlock});
  if (bytes >= kKeptBlock) {
    if (const Memory block = taken(bytes); block.data != nullptr) {
      if (old.bytes != 0) std::memcpy(block.data, old.data, old.bytes);
      release_memory(old);
      return block;
    }
  }
  // For large blocks the C library asks the system to move the pages, which copies nothing.
  void* const data = std::realloc(old.data, bytes);
  if (data == nullptr) throw std::bad_alloc();
  return {data, bytes};
}

void release_memory(Memory block) noexcept {
  const bool is_kept = block.bytes >= kKeptBlock && !Kept::is_gone && kept.put(block);
  if (!is_kept) std::free(block.data);
}

std::size_t kept_memory() noexcept { return Kept::is_gone ? 0 : kept.total(); }

}  // namespace pyptx::support
