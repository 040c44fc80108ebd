// SPDX-License-Identifier: Apache-2.0
//
// The loaded driver: its entry points, its version and its devices, made once per process by
// whoever asks first and never taken down (CUDA outlives every static destructor). PYPTX_LIBCUDA
// names another library to open in place of libcuda.so.1.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cuda_abi.h"
#include "pyptx/diag/diagnostic.h"
#include "pyptx/driver/device.h"

namespace pyptx::driver {

struct Driver {
  cuda::Api api;  // those of every launch last, beside what else a launch reads
  /// Primary contexts retained so far, by ordinal; see context.h.
  mutable std::array<std::atomic<cuda::Context>, kMaxDevices> primary{};
  int version = 0;
  std::vector<DeviceInfo> devices;
  std::vector<cuda::Device> handles;  // by ordinal

  std::optional<int> ordinal(cuda::Device handle) const;
};

/// The version of the driver library without initialising CUDA: a process that only compiles may
/// still fork.
diag::Result<int> library_version();

/// The process's driver, or the reason there is none.
diag::Result<const Driver*> driver();
/// The process's driver if `ordinal` is one of its devices.
diag::Result<const Driver*> driver_with(int ordinal);

/// Opens a driver library and resolves its entry points; calls none of them.
diag::Result<cuda::Api> open_api(const std::string& path);
/// Initialises CUDA and looks at the devices.
diag::Result<std::unique_ptr<Driver>> start(const cuda::Api& api);

/// The diagnostic of a failed call: `call` is the entry point's name. Common causes get advice.
diag::Diagnostic cuda_error(const cuda::Api& api, std::string_view call, cuda::Code code);

}  // namespace pyptx::driver
