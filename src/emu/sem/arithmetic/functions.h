// SPDX-License-Identifier: Apache-2.0
//
// Approximate functions, compiled once per instruction-set variant of the host. The manual bounds
// their error and leaves the bits to the machine; these are the bits of an NVIDIA H200, recorded
// over every input (tools/record/functions), for every target.
#pragma once

#include "decode/types.h"

namespace pyptx::emu {

enum class Fn : u8 { Rcp, Sqrt, Rsqrt, Ex2, Lg2, Sin, Cos, Tanh };

/// .approx of f32, and of the half formats where there is such a form; null where there is none.
Handler function_handler(Fn fn, Ty type, bool ftz);
/// rcp.approx.ftz.f64, rsqrt.approx.ftz.f64 and rsqrt.approx.f64.
Handler wide_function_handler(Fn fn, bool ftz);
/// div.approx.f32 and div.full.f32.
Handler quotient_handler(bool full, bool ftz);

}  // namespace pyptx::emu
