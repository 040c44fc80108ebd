// SPDX-License-Identifier: Apache-2.0
//
// The variant for x86-64 with AVX2 and FMA. See variant.h.
#include "sem/variant.h"

#if defined(PYPTX_EMU_HAS_X86_VARIANTS)

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma")
#endif

namespace pyptx::emu::avx2 {
#include "sem/variant.inc"
}  // namespace pyptx::emu::avx2

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

#endif
