// SPDX-License-Identifier: Apache-2.0
//
// What a custom call runs, read from its attributes: an image by hash, its text and plan where the
// process does not know it yet, a kernel for any size, or a handle. Included only where XLA's
// headers are at hand.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

#include "pyptx/diag/diagnostic.h"
#include "pyptx/driver/device.h"
#include "pyptx/driver/launch.h"
#include "pyptx/interop/graph_kernel.h"
#include "pyptx/interop/image.h"
#include "xla_frame.h"

namespace pyptx::interop::xla {

/// An image, a kernel for any size, or a handle of this process.
struct CallSite {
  std::shared_ptr<KernelImage> image = {};
  std::shared_ptr<const OpenGraphKernel> open = {};
  std::int64_t handle = 0;
  /// The last arguments, whose memory results take and which the kernel does not get.
  std::size_t unread = 0;
  /// The first results, which hold what the arguments held whose memory they take.
  std::size_t kept = 0;

  bool has_handle() const { return image == nullptr && open == nullptr; }
};

diag::Result<CallSite> read_call_site(const Frame& frame);

/// The image for the buffers of a call; null where they are of a size that launches nothing.
diag::Result<std::shared_ptr<KernelImage>> image_for(const OpenGraphKernel& open,
                                                     const Frame& frame);

/// What XLA keeps for a call of a compiled program: the call site, and the launcher of each device
/// once it is loaded and prepared there. XLA prepares before every run; after the first there is
/// nothing left to do.
struct CallState {
  explicit CallState(CallSite from) : site(std::move(from)) {}

  const driver::Launcher* ready(std::int32_t device) const {
    return is_known(device)
               ? launchers[static_cast<std::size_t>(device)].load(std::memory_order_acquire)
               : nullptr;
  }
  void set_ready(std::int32_t device, const driver::Launcher* launcher) {
    if (is_known(device)) {
      launchers[static_cast<std::size_t>(device)].store(launcher, std::memory_order_release);
    }
  }
  static bool is_known(std::int32_t device) { return device >= 0 && device < driver::kMaxDevices; }

  const CallSite site;
  std::array<std::atomic<const driver::Launcher*>, driver::kMaxDevices> launchers{};
};

}  // namespace pyptx::interop::xla
