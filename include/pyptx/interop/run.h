// SPDX-License-Identifier: Apache-2.0
//
// Running an image on tensors: on a GPU through the driver, or on the CPU emulator, which needs
// the tensors' sizes too, because it checks every access against them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "pyptx/diag/diagnostic.h"
#include "pyptx/emu/emulator.h"
#include "pyptx/interop/image.h"

namespace pyptx::interop {

/// Host memory of one tensor.
struct HostTensor {
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  bool writable = true;
  bool has_value = true;            // see emu::Buffer
  std::uint32_t element_bytes = 1;  // for messages
};

/// Loads an image on `device`, so that its first launch there has nothing left to do.
diag::Status prepare(KernelImage& image, int device);

/// Launches on `stream` of `device`.
diag::Status launch(KernelImage& image, int device, void* stream,
                    const driver::LaunchArguments& arguments);
/// The same for a plan without run-time scalars.
diag::Status launch(KernelImage& image, int device, void* stream,
                    std::span<const std::uint64_t> pointers);

/// What the host language wants of emulations that it does not wait for itself: those that XLA or a
/// compiled graph of torch starts, perhaps on a thread of its own.
struct Host {
  void (*begin)() = nullptr;  // all three, or none
  bool (*is_interrupted)() = nullptr;
  void (*end)() = nullptr;
};
/// For all emulations that begin afterwards.
void set_host(const Host& host);

/// Runs the whole grid on the calling thread and the emulator's own, and returns when it is done.
/// `scalars` and `grid` are those of driver::LaunchArguments. Without an interrupt in the options
/// the host's is asked.
diag::Result<emu::Report> emulate(KernelImage& image, std::span<const HostTensor> tensors,
                                  const emu::Options& options = {},
                                  std::span<const std::uint64_t> scalars = {},
                                  const std::optional<driver::Dim3>& grid = {});

/// An emulator launch with the memory that its parameter block points into.
struct EmulatorLaunch {
  struct alignas(64) Map {
    std::byte bytes[128];
  };
  emu::Launch launch;
  std::vector<Map> maps;  // those passed by address; listed among launch.buffers
};

/// The launch of `program` that `plan` describes, for these tensors and run-time scalars.
diag::Result<EmulatorLaunch> bind(const emu::Program& program, const driver::LaunchPlan& plan,
                                  std::span<const HostTensor> tensors,
                                  std::span<const std::uint64_t> scalars = {},
                                  const std::optional<driver::Dim3>& grid = {});

}  // namespace pyptx::interop
