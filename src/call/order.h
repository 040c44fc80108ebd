// SPDX-License-Identifier: Apache-2.0
//
// The tensors of a call in the order of its kernel's signature, and where they are.
#pragma once

#include <array>
#include <span>

#include "core.h"
#include "pyptx/driver/plan.h"

namespace pyptx::call {

using TensorMemory = std::array<interop::ReadTensor, driver::kMaxTensors>;

/// Inputs, then outputs. They are those of the call where these are in order; `memory` holds them
/// where they were given by name. Empty where the kernel takes others.
std::optional<std::span<const interop::ReadTensor>> in_order(const Core& core,
                                                             const Arguments& call,
                                                             TensorMemory& memory);
/// The same, with words for what is wrong: ArrayCount, ArgumentKind, KeywordName.
diag::Result<std::span<const interop::ReadTensor>> ordered(const Core& core, const Arguments& call,
                                                           TensorMemory& memory);

}  // namespace pyptx::call
