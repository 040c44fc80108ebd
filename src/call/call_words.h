// SPDX-License-Identifier: Apache-2.0
//
// What is refused of a call beside the shapes and types of its tensors.
#pragma once

#include <span>
#include <string>

#include "core.h"

namespace pyptx::call {

/// "cpu", "cuda:0"
std::string device_text(const dlpack::Device& device);

/// What the checks are told of a tensor.
interop::Array array_of(const interop::ReadTensor& view, std::string_view device);

/// Where a call runs: where its first tensor is, or where it says. NoTensors, LaunchPlace,
/// ArrayDevice.
diag::Result<dlpack::Device> device_of(const Core& core, const Arguments& call,
                                       std::span<const interop::ReadTensor> views);

/// Memory that is not there, is too small or may not be written: NullTensor, ArrayMemory.
diag::Status check_memory(const Core& core, const Arguments& call,
                          std::span<const interop::ReadTensor> views,
                          std::span<const interop::Array> arrays);

/// Why a call is none of what a kernel was bound to.
diag::Status refused(const Bound& bound, const Arguments& call);

/// The bits of these scalars in a call, in `bits`, which has room for all: ScalarCount,
/// ScalarValue, KeywordName.
diag::Status scalar_bits(const Core& core, std::span<const interop::ScalarParameter> scalars,
                         const Arguments& call, std::span<std::uint64_t> bits);

}  // namespace pyptx::call
