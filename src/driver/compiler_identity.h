// SPDX-License-Identifier: Apache-2.0
//
// Which build of a compiler a file is, told without opening it as a library or running it: a hit in
// the cubin cache has no other use for the compiler, and opening nvJitLink takes longer than all
// the rest of a kernel's first call.
#pragma once

#include <string>

namespace pyptx::driver {

/// "libnvJitLink.so.13 build 0a1b..." where the linker left a build ID; else the file's name, size
/// and time of change. Empty for what is not an ELF file: a script may run any compiler.
std::string compiler_identity(const std::string& path);

}  // namespace pyptx::driver
