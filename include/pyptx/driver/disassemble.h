// SPDX-License-Identifier: Apache-2.0
//
// Machine code as text, by NVIDIA's nvdisasm as a process: the one that PYPTX_NVDISASM names, else
// one in the folders of add_compiler_folder(), a CUDA toolkit or PATH.
#pragma once

#include <string>
#include <string_view>

#include "pyptx/diag/diagnostic.h"

namespace pyptx::driver {

/// The code of a cubin. `with_lines`: with the source lines that its line table names.
/// NoDisassembler, DisassemblerFailed.
diag::Result<std::string> disassemble(std::string_view cubin, bool with_lines = false);

}  // namespace pyptx::driver
