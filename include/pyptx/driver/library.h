// SPDX-License-Identifier: Apache-2.0
//
// Loaded kernels. A cubin is loaded once per process (by content) as a context-independent CUDA
// library; a kernel of it is prepared once per device. Nothing is ever unloaded: a CUDA graph may
// hold a kernel after the last reference here is gone, and it cannot tell us when it lets go.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "pyptx/diag/diagnostic.h"
#include "pyptx/driver/device.h"

namespace pyptx::driver {

struct Driver;  // src/driver/cuda_api.h

/// A kernel that is loaded for one device.
class Kernel {
 public:
  /// What a kernel uses, as the compiler settled it.
  struct Resources {
    int registers = 0;      // per thread
    int local_bytes = 0;    // per thread, stack and spills
    int static_shared = 0;  // per block
    int constant_bytes = 0;
    int max_threads = 0;         // per block, given the registers
    int binary_version = 0;      // 90
    bool needs_cluster = false;  // a launch must give a cluster shape
  };

  Kernel(void* handle, std::string entry) : handle_(handle), entry_(std::move(entry)) {}
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;

  /// CUkernel.
  void* handle() const { return handle_; }
  const std::string& entry() const { return entry_; }

  /// Makes the kernel resident in the device's primary context, or in another one of that device
  /// that is current, with room for `dynamic_shared` bytes and for clusters of `cluster_size`
  /// blocks. Legal while a stream of this thread is being captured.
  diag::Status prepare(int device, std::uint32_t dynamic_shared, std::uint32_t cluster_size);
  /// CUfunction in the device's primary context, which costs less to launch there than the
  /// CUkernel; null until prepare() ran in that context.
  void* primary_function(int device);
  diag::Result<Resources> resources(int device);

 private:
  struct DeviceState {
    void* primary_function = nullptr;  // null: not resident in the primary context
    std::uint32_t dynamic_shared = 0;
    bool large_cluster = false;
  };

  diag::Status allow_shared(const Driver& loaded, int device, std::uint32_t dynamic_shared);

  void* handle_;
  std::string entry_;
  std::mutex mutex_;
  std::array<DeviceState, kMaxDevices> devices_{};
};

/// The kernel `entry` of a cubin. The same content and entry give the same Kernel.
diag::Result<std::shared_ptr<Kernel>> load_kernel(std::string_view cubin, const std::string& entry);

}  // namespace pyptx::driver
