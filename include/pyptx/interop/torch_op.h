// SPDX-License-Identifier: Apache-2.0
//
// The operators that compiled and exported torch programs call, implemented without Python:
// pyptx::launch allocates its outputs from torch, pyptx::launch_one is the same for kernels with
// one output, pyptx::launch_out writes given ones. `kernel` is the text of a GraphKernel, or its
// name alone. Behind the inputs come the kernel's run-time scalars, each a CPU tensor of float64 or
// int64 without dimensions. CUDA tensors are launched on torch's current stream of their device,
// CPU tensors run on the emulator.
#pragma once

#include "pyptx/diag/diagnostic.h"

namespace pyptx::interop {

/// The operators that torch sees.
inline constexpr const char* kTorchLaunchSchema = "launch(Tensor[] inputs, str kernel) -> Tensor[]";
inline constexpr const char* kTorchLaunchOneSchema =
    "launch_one(Tensor[] inputs, str kernel) -> Tensor";
inline constexpr const char* kTorchLaunchOutSchema =
    "launch_out(Tensor[] inputs, Tensor(a!)[] outs, str kernel) -> ()";

/// Implements the operators in the torch that this process has loaded, once. `define`: they are
/// not defined yet. Fails with TorchAbi where torch is not loaded or too old.
diag::Status register_torch_operators(bool define);

}  // namespace pyptx::interop
