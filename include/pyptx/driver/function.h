// SPDX-License-Identifier: Apache-2.0
//
// Launching a function that somebody else loaded: a CUfunction or CUkernel, its dimensions and a
// packed parameter block. Nothing is checked or made ready; whoever loaded it did that.
#pragma once

#include <cstdint>
#include <span>

#include "pyptx/diag/diagnostic.h"
#include "pyptx/driver/plan.h"
#include "pyptx/driver/tensor_map.h"

namespace pyptx::driver {

/// How it is launched.
struct FunctionLaunch {
  void* function = nullptr;
  Dim3 grid;
  Dim3 block;
  Dim3 cluster;
  std::uint32_t dynamic_shared = 0;
};

/// Launches on `stream` (a CUstream; null is the default stream of `device`).
diag::Status launch_function(const FunctionLaunch& launch, void* stream, int device,
                             std::span<unsigned char> parameters);

/// A copy of `map` over the tensor at `address`.
diag::Result<EncodedMap> with_address(const EncodedMap& map, std::uint64_t address);

}  // namespace pyptx::driver
