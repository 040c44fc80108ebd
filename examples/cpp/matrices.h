// SPDX-License-Identifier: Apache-2.0
//
// Matrix products in float64, for the programs that multiply.
#pragma once

#include <cstddef>
#include <vector>

#include "check.h"

namespace examples {

/// C = A @ B, or A @ B^T, for row-major A of `m` rows; B has `n` columns, or rows.
inline std::vector<double> product(const Array& a, const Array& b, bool is_b_transposed) {
  const auto m = static_cast<std::size_t>(a.shape[0]);
  const auto k = static_cast<std::size_t>(a.shape[1]);
  const auto n = static_cast<std::size_t>(b.shape[is_b_transposed ? 0 : 1]);
  std::vector<double> c(m * n);
  for (std::size_t row = 0; row < m; ++row) {
    for (std::size_t column = 0; column < n; ++column) {
      double sum = 0;
      for (std::size_t i = 0; i < k; ++i) {
        sum += a[row * k + i] * b[is_b_transposed ? column * k + i : i * n + column];
      }
      c[row * n + column] = sum;
    }
  }
  return c;
}

/// Multiplies matrices of random values by `kernel` and compares.
template <typename Kernel>
bool multiply(const char* name, const Kernel& kernel, const Array& a, const Array& b,
              bool is_b_transposed) {
  Array c = empty({a.shape[0], b.shape[is_b_transposed ? 0 : 1]}, f32);
  const auto call = [&](auto& at) { return kernel(at(a), at(b), out(at(c)), at.stream()); };
  return check(name, call, c, product(a, b, is_b_transposed), 1e-4);
}

}  // namespace examples
