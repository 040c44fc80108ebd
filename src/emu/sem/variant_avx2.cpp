// SPDX-License-Identifier: Apache-2.0
//
// The elementwise families and the panels of matrices for x86-64 with AVX2 and FMA. Every header
// comes before the target pragma, so that no function shared with other files is compiled for AVX2.
#include <bit>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "lanes.h"
#include "numerics/panel.h"
#include "sem/elementwise.h"

#if defined(PYPTX_EMU_HAS_AVX2)

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma")
#endif

namespace pyptx::emu::avx2 {
#include "numerics/panels.inc"
#include "sem/elementwise.inc"
}  // namespace pyptx::emu::avx2

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

#endif
