// SPDX-License-Identifier: Apache-2.0
//
// What the emulator uses of the processor that it runs on. The results are the same everywhere.
#pragma once

#include <string_view>

namespace pyptx::emu {

/// "baseline", "avx2" or "avx512": the code chosen for this processor, or by PYPTX_EMU_VARIANT.
std::string_view host_variant();

}  // namespace pyptx::emu
