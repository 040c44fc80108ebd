// SPDX-License-Identifier: Apache-2.0
//
// Zeros, as aligned as any variable asks for. Pages that nobody touches take no memory, however
// many a module declares.
#pragma once

#include <cstdlib>
#include <memory>
#include <new>

#include "decode/program.h"

namespace pyptx::emu {

class AlignedBytes {
 public:
  static constexpr std::size_t kAlignment = 1024;

  AlignedBytes() = default;
  /// Throws std::bad_alloc.
  explicit AlignedBytes(u64 size) : size_(size) {
    if (size == 0) return;
    memory_.reset(size > ~0ULL - kAlignment ? nullptr : std::calloc(1, size + kAlignment));
    if (memory_ == nullptr) throw std::bad_alloc();
    void* start = memory_.get();
    std::size_t room = size + kAlignment;
    data_ = static_cast<std::byte*>(std::align(kAlignment, size, start, room));
  }
  std::byte* data() { return data_; }
  const std::byte* data() const { return data_; }
  u64 size() const { return size_; }
  bool empty() const { return size_ == 0; }

 private:
  struct Free {
    void operator()(void* memory) const { std::free(memory); }
  };
  std::unique_ptr<void, Free> memory_;
  std::byte* data_ = nullptr;
  u64 size_ = 0;
};

}  // namespace pyptx::emu
