// SPDX-License-Identifier: Apache-2.0
//
// Softmax over rows in C++: one CTA per row, the row read once and kept in registers. The same
// kernel as examples/hopper/softmax.py, and the same text.
#pragma once

#include <limits>
#include <numbers>

#include "pyptx/kernel.h"
#include "rows.h"

namespace examples {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

inline void softmax_body(const Tensor& X, const Tensor& Y) {
  const auto [px, py] = ptx::global_ptrs(X, Y);
  const Row row(X.shape(1));
  // Beyond the row lies what neither the maximum nor, after the exponential, the sum sees.
  const RegArray x = row.load(px + row.offset(), -kInfinity);

  const Reg in_thread = reg::scalar(f32, -kInfinity);
  for (const Reg& value : x) ptx::inst::max.f32(in_thread, in_thread, value);
  const Reg largest = row.max(in_thread);

  // exp(x - m) = 2 ** (x * log2(e) - m * log2(e)): one fma and one ex2 per element.
  const Reg shift = reg::scalar(f32);
  ptx::inst::mul.f32(shift, largest, -std::numbers::log2e);
  const Reg total = reg::scalar(f32, 0.0);
  for (const Reg& value : x) {
    ptx::inst::fma.rn.f32(value, value, std::numbers::log2e, shift);
    ptx::inst::ex2.approx.ftz.f32(value, value);
    ptx::inst::add.f32(total, total, value);
  }
  const Reg inverse = row.sum(total);
  ptx::inst::rcp.approx.ftz.f32(inverse, inverse);

  for (const Reg& value : x) ptx::inst::mul.f32(value, value, inverse);
  row.store(py + row.offset(), x);
  ptx::ret();
}

/// y = exp(x - max(x)) / sum(exp(x - max(x))) for rows of N elements, a multiple of 4.
inline const auto softmax =
    kernel("softmax", {Input("X", {"M", "N"}, f32), Output("Y", {"M", "N"}, f32)},
           {.grid = dim("M"), .block = {Row::kThreads}, .multiple_of = {{"N", 4}}}, softmax_body);

}  // namespace examples
