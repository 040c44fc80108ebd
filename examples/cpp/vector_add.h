// SPDX-License-Identifier: Apache-2.0
//
// The first kernel: vectors of any length, and a scalar that each launch brings. The README has it
// in both languages.
#pragma once

#include "pyptx/kernel.h"

namespace examples {

using namespace pyptx;
using namespace pyptx::types;

inline void vector_add_body(const Tensor& X, const Tensor& Y, const Tensor& Z) {
  const auto [px, py, pz] = ptx::global_ptrs(X, Y, Z);
  const Reg alpha = ptx::param(f32, "alpha");
  const Reg first = reg::from(ptx::special::ctaid.x(), u32) * 256;
  const Reg i = first + ptx::special::tid.x();
  ptx::if_(i < X.shape(0), [&] {
    const Reg x = reg::scalar(f32), y = reg::scalar(f32);
    ptx::inst::ld.global.f32(x, ptx::addr(px + i * 4));
    ptx::inst::ld.global.f32(y, ptx::addr(py + i * 4));
    ptx::inst::fma.rn.f32(y, y, alpha, x);
    ptx::inst::st.global.f32(ptx::addr(pz + i * 4), y);
  });
  ptx::ret();
}

/// Z = X + alpha * Y, one element a thread.
inline const auto vector_add =
    kernel("vector_add", {Input("X", {"N"}, f32), Input("Y", {"N"}, f32), Output("Z", {"N"}, f32)},
           {.grid = ceil_div(dim("N"), 256), .block = {256}, .scalars = {{f32, "alpha"}}},
           vector_add_body);

}  // namespace examples
