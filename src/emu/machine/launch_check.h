// SPDX-License-Identifier: Apache-2.0
//
// What a launch must be like before anything of it runs: sizes that the target has and the kernel
// admits, and memory for the emulator itself.
#pragma once

#include <optional>
#include <string>

#include "decode/program.h"

namespace pyptx::emu {

inline u64 product(const Dim3& dim) { return u64{dim.x} * dim.y * dim.z; }
u64 cluster_count(const Launch& launch);
/// What about the launch does not fit the kernel or its target.
std::optional<std::string> launch_problem(const Program& program, const Launch& launch);
/// What the emulator itself needs for so many clusters at once, where that is more than the machine
/// has: a run that the system would end for want of memory is not begun.
std::optional<std::string> memory_problem(const Program& program, const Launch& launch,
                                          u64 resident);

}  // namespace pyptx::emu
