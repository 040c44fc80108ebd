// SPDX-License-Identifier: Apache-2.0
//
// Functions of the loaded torch that a call uses every time, beside those of its stable ABI that an
// operator needs too (torch_abi.h). Most are C++ functions, whose mangled names spell the types of
// their parameters. They are looked up in the libraries that the process has loaded already;
// nothing is loaded, and no torch header is needed. One that this torch does not have is null, and
// the caller has another way.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

namespace pyptx::python {

/// An at::Tensor that nobody else knows: one counted pointer, which only torch can let go.
struct MadeTensor {
  void* impl;

  MadeTensor() {}  // NOLINT(modernize-use-equals-default): holds nothing yet, not even null
  MadeTensor(const MadeTensor&) = delete;
  MadeTensor& operator=(const MadeTensor&) = delete;
  // Not defaulted: torch's type has a destructor, and types with one are returned differently.
  ~MadeTensor() {}  // NOLINT(modernize-use-equals-default)

  void take(const MadeTensor& other) { impl = other.impl; }
};

/// c10::ArrayRef<long>.
struct IntArray {
  const std::int64_t* data;
  std::size_t size;
};

/// c10::Device, its type a c10::DeviceType.
struct TorchDevice {
  std::int8_t type;
  std::int8_t index;
};
inline constexpr std::int8_t kTorchCpu = 0;
inline constexpr std::int8_t kTorchCuda = 1;

struct TorchShim {
  using MemoryFormat = std::optional<std::int8_t>;

  /// Whether autograd records (torch.is_grad_enabled).
  bool (*grad_mode_enabled)() = nullptr;
  /// Depths of the stacks of __torch_dispatch__ and __torch_function__ modes.
  std::int64_t (*dispatch_modes)() = nullptr;
  std::int64_t (*function_modes)() = nullptr;
  /// What torch.jit.trace records into: a reference to a pointer, null outside of it.
  void* const& (*tracing_state)() = nullptr;

  /// Whether somebody records what this thread runs: torch's profiler, or its NVTX ranges.
  bool (*has_callbacks)() = nullptr;
  /// Whether torch.autocast is on for tensors of a c10::DeviceType.
  bool (*is_autocast_enabled)(std::int8_t device_type) = nullptr;

  /// Of a tensor's implementation, which is what an at::Tensor points to.
  bool (*requires_grad)(const void* impl) = nullptr;

  /// Dense, uninitialised tensors. They throw what torch throws when there is no memory.
  MadeTensor (*empty_cpu)(IntArray sizes, std::int8_t dtype, bool pinned, MemoryFormat) = nullptr;
  MadeTensor (*empty_cuda)(IntArray sizes, std::int8_t dtype, std::optional<TorchDevice> device,
                           MemoryFormat) = nullptr;
  /// Moves a tensor into a new object of the host language. Null with its error set.
  void* (*wrap)(MadeTensor&& tensor) = nullptr;

  /// What the loaded torch offers; torch must have been imported.
  static TorchShim find();
  /// The functions that live in torch's CUDA library, which may be loaded later.
  void find_cuda();
};

static_assert(sizeof(std::optional<TorchDevice>) == 3 && sizeof(TorchShim::MemoryFormat) == 2);

}  // namespace pyptx::python
