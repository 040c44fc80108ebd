// SPDX-License-Identifier: Apache-2.0
//
// Launching. A Launcher is a plan bound to a loaded kernel, with everything that can be worked out
// ahead worked out: the launch configuration, the constants, where a call finds each parameter. A
// call points at them, makes the tensor maps and launches: no allocation, no lock that it waits
// for. Every check comes before the launch; a refused call launches nothing.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "pyptx/diag/diagnostic.h"
#include "pyptx/driver/device.h"
#include "pyptx/driver/library.h"
#include "pyptx/driver/plan.h"
#include "pyptx/driver/tensor_map.h"

namespace pyptx::driver {

class MapSlot;  // src/driver/map_slot.h

/// What one call brings beside the plan.
struct LaunchArguments {
  /// The tensors' addresses on the device, inputs then outputs, as many as the plan counts.
  std::span<const std::uint64_t> pointers;
  /// The bits of the plan's run-time scalars, in their order.
  std::span<const std::uint64_t> scalars = {};
  /// In place of the plan's: a grid that depends on a scalar.
  std::optional<Dim3> grid = {};
};

/// A plan bound to a loaded kernel.
class Launcher {
 public:
  /// Checks what can be checked without a device: the shape of the launch and of its parameters.
  /// `parameter_count` is how many parameters the kernel takes, where the caller knows. Where not,
  /// the driver is asked for one too many, which tools such as compute-sanitizer report.
  static diag::Result<std::unique_ptr<Launcher>> create(
      LaunchPlan plan, std::shared_ptr<Kernel> kernel,
      std::optional<std::size_t> parameter_count = std::nullopt);
  ~Launcher();
  Launcher(const Launcher&) = delete;
  Launcher& operator=(const Launcher&) = delete;

  /// Checks the plan against the device and makes the kernel resident there. The first launch on
  /// a device does it too; do it earlier to keep loading out of a capture or a timed region.
  diag::Status prepare(int device) const;

  /// Launches on `stream` (a CUstream; null is the device's default stream).
  diag::Status launch(void* stream, int device, const LaunchArguments& arguments) const;

  const LaunchPlan& plan() const { return plan_; }
  Kernel& kernel() const { return *kernel_; }
  /// Bytes of all parameters, each at a multiple of its alignment.
  std::size_t parameter_bytes() const { return parameter_bytes_; }

 private:
  struct Prebuilt;
  /// Where a parameter is: among the tensors' addresses, the constants, the call's scalars or the
  /// maps, so many bytes behind the first.
  struct Source {
    enum In : std::uint32_t { Pointers, Constants, Scalars, Maps };
    In in;
    std::uint32_t offset;
  };

  Launcher(LaunchPlan plan, std::shared_ptr<Kernel> kernel);
  diag::Status lay_out();
  diag::Status check_pointers(std::span<const std::uint64_t> pointers) const;
  diag::Status check_parameters(int device) const;
  diag::Status check_elsewhere(void* stream, int device) const;
  diag::Status submit(void* stream, int device, const LaunchArguments& arguments, EncodedMap* maps,
                      void** params) const;
  /// What tensors hold when the kernel begins.
  [[gnu::noinline]] diag::Status fill(void* stream, const LaunchArguments& arguments) const;
  [[gnu::noinline]] diag::Status submit_large(void* stream, int device,
                                              const LaunchArguments& arguments) const;

  // What every call reads comes first, close together.
  std::unique_ptr<Prebuilt> prebuilt_;
  std::vector<Source> sources_;  // of each parameter
  std::vector<std::uint64_t> constants_;
  std::vector<std::unique_ptr<MapSlot>> maps_;
  std::size_t scalar_count_ = 0;
  struct Prepared {
    std::atomic<bool> done = false;
    std::atomic<void*> function = nullptr;  // Kernel::primary_function(), written before `done`
  };
  mutable std::array<Prepared, kMaxDevices> prepared_{};
  std::size_t parameter_bytes_ = 0;
  bool count_is_known_ = false;  // that the kernel takes as many parameters as the plan passes
  LaunchPlan plan_;
  std::shared_ptr<Kernel> kernel_;
};

}  // namespace pyptx::driver
