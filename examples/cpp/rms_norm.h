// SPDX-License-Identifier: Apache-2.0
//
// RMSNorm in C++: one warp normalises one row. The same kernel as examples/hopper/rms_norm.py, and
// the same text.
#pragma once

#include <cstdint>

#include "pyptx/kernel.h"

namespace examples {

inline constexpr std::int64_t kWarpSize = 32;

/// Template values of the kernel.
struct Norm {
  double eps = 1e-6;
  bool operator==(const Norm&) const = default;
};

/// y = x / sqrt(mean(x^2) + eps) * w for rows of whole warps of elements.
inline pyptx::DeclaredKernel<Norm> rms_norm() {
  using namespace pyptx;
  using namespace pyptx::types;
  const auto body = [](const Tensor& X, const Tensor& W, const Tensor& Y, const Norm& norm) {
    const std::int64_t columns = W.shape(0);
    const std::int64_t items = columns / kWarpSize;
    auto [px, pw, py] = ptx::global_ptrs(X, W, Y);
    const Reg row = reg::from(ptx::special::ctaid.x(), u32);
    const Reg row_byte_off = row * (columns * 4);
    px += row_byte_off;
    py += row_byte_off;

    const Reg tid = reg::from(ptx::special::tid.x(), u32);
    const Reg sum_sq = reg::scalar(f32, 0.0);
    const RegArray x_vals = reg::array(f32, static_cast<std::size_t>(items));

    for (std::int64_t i = 0; i < items; ++i) {
      const Reg idx = tid + i * kWarpSize;
      const Reg ptr = px + idx * 4;
      const Reg x = x_vals[i];
      ptx::inst::ld.global.f32(x, ptx::addr(ptr));
      ptx::inst::fma.rn.f32(sum_sq, x, x, sum_sq);
    }

    ptx::warp::reduce_sum(sum_sq);
    const Reg mean_sq = reg::scalar(f32);
    const Reg inv_n = reg::scalar(f32, 1.0 / static_cast<double>(columns));
    const Reg eps_reg = reg::scalar(f32, norm.eps);
    const Reg rstd = reg::scalar(f32);
    ptx::inst::mul.f32(mean_sq, sum_sq, inv_n);
    ptx::inst::add.f32(mean_sq, mean_sq, eps_reg);
    ptx::inst::rsqrt.approx.f32(rstd, mean_sq);

    for (std::int64_t i = 0; i < items; ++i) {
      const Reg idx = tid + i * kWarpSize;
      const Reg off = idx * 4;
      const Reg w_val = reg::scalar(f32);
      const Reg y_val = reg::scalar(f32);
      ptx::inst::ld.global.f32(w_val, ptx::addr(pw + off));
      ptx::inst::mul.f32(y_val, x_vals[i], rstd);
      ptx::inst::mul.f32(y_val, y_val, w_val);
      ptx::inst::st.global.f32(ptx::addr(py + off), y_val);
    }
    ptx::ret();
  };
  return kernel<Norm>(
      "rms_norm",
      {Input("X", {"M", "N"}, f32), Input("W", {"N"}, f32), Output("Y", {"M", "N"}, f32)},
      {.grid = dim("M"), .block = {kWarpSize}}, body);
}

}  // namespace examples
