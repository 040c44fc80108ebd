// SPDX-License-Identifier: Apache-2.0
//
// Device memory, owned: freed with the object. For programs that have no framework to allocate
// theirs; a launch takes any address.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "pyptx/diag/diagnostic.h"
#include "pyptx/driver/stream.h"

namespace pyptx::driver {

/// Bytes in the memory of one device, aligned to 256. Work that uses them must be done before they
/// are freed. Not to be made while a stream is being captured.
class DeviceMemory {
 public:
  static diag::Result<DeviceMemory> allocate(int device, std::size_t bytes);

  std::uint64_t address() const { return reinterpret_cast<std::uintptr_t>(memory_.get()); }
  std::size_t bytes() const { return bytes_; }
  int device() const { return memory_.get_deleter().device; }

  /// Queues a copy of all the bytes; `host` must hold as many, and stay until the copy is done.
  diag::Status copy_from(const void* host, const Stream& stream) const;
  diag::Status copy_to(void* host, const Stream& stream) const;

 private:
  struct Free {
    int device = 0;
    void operator()(void* memory) const;
  };
  DeviceMemory(std::unique_ptr<void, Free> memory, std::size_t bytes)
      : memory_(std::move(memory)), bytes_(bytes) {}
  std::unique_ptr<void, Free> memory_;  // an address of the device; null where there are no bytes
  std::size_t bytes_;
};

}  // namespace pyptx::driver
