// SPDX-License-Identifier: Apache-2.0
//
// What CUDA offers on this machine: whether there is a driver at all (and if not, why not), its
// version, and the devices. libcuda is opened at run time, once per process, by the first call of
// any function here; a machine without it is an ordinary machine, not an error state. This header
// names no CUDA type: a stream is a void*, a device an ordinal, an address a uint64_t.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "pyptx/diag/diagnostic.h"

namespace pyptx::driver {

/// Devices beyond this ordinal are refused; per-device state lives in arrays of this size.
inline constexpr int kMaxDevices = 64;

/// A device, as the driver tells of it.
struct DeviceInfo {
  int ordinal = 0;
  std::string name;
  int major = 0;  // compute capability
  int minor = 0;
  std::string target;  // "sm_90a": the most specific target that the device runs
  int multiprocessors = 0;
  std::uint32_t max_threads_per_block = 0;
  std::uint32_t shared_default = 0;  // bytes per block without asking
  std::uint32_t shared_optin = 0;    // bytes per block when asked for, static and dynamic together
  std::uint32_t l2_bytes = 0;
  bool clusters = false;
};

/// Success when the driver is loaded, initialised and has a device. Cheap after the first call.
diag::Status available();

/// 13000 for CUDA 13.0. Does not initialise CUDA, so a process may still fork after it.
diag::Result<int> driver_version();
diag::Result<int> device_count();
/// Valid for the life of the process.
diag::Result<const DeviceInfo*> device(int ordinal);
/// Ordinal of the calling thread's current context, 0 when it has none.
diag::Result<int> current_device();

/// The target of a compute capability: "sm_90a" for 9.0, "sm_89" for 8.9.
std::string target_of(int major, int minor);

/// The target to assemble PTX of `ptx_target` for, so that it runs on the device: sm_80 text runs
/// everywhere from 8.0 on, sm_100f text in its family, sm_90a text on 9.0 alone. TargetMismatch
/// when the device cannot run it.
diag::Result<std::string> code_target(std::string_view ptx_target, const DeviceInfo& device);

}  // namespace pyptx::driver
