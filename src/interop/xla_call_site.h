// SPDX-License-Identifier: Apache-2.0
//
// What a custom call runs, read from its attributes: an image by hash, its text and plan where the
// process does not know it yet, or a handle. Included only where XLA's headers are at hand.
#pragma once

#include <cstdint>
#include <memory>

#include "pyptx/diag/diagnostic.h"
#include "pyptx/interop/image.h"
#include "xla_frame.h"

namespace pyptx::interop::xla {

/// An image, or a handle of this process.
struct CallSite {
  std::shared_ptr<KernelImage> image;
  std::int64_t handle = 0;
};

diag::Result<CallSite> read_call_site(const Frame& frame);

}  // namespace pyptx::interop::xla
