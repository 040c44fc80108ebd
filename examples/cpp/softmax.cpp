// SPDX-License-Identifier: Apache-2.0
//
// Softmax over rows.
//
//     softmax [M N]          runs, on the first GPU or on the emulator
//     softmax --ptx M N      prints the PTX
#include "softmax.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "check.h"

namespace {

using namespace examples;

std::vector<double> reference(const Array& x, std::size_t columns) {
  std::vector<double> y(x.size());
  for (std::size_t row = 0; row < x.size(); row += columns) {
    double largest = -INFINITY;
    double total = 0;
    for (std::size_t i = row; i < row + columns; ++i) largest = std::max(largest, x[i]);
    for (std::size_t i = row; i < row + columns; ++i) total += y[i] = std::exp(x[i] - largest);
    for (std::size_t i = row; i < row + columns; ++i) y[i] /= total;
  }
  return y;
}

}  // namespace

int main(int argc, char** argv) {
  const auto sizes = numbers(argc, argv, {16, 1000});
  const auto m = sizes[0], n = sizes[1];
  if (has(argc, argv, "--ptx")) return show(softmax.ptx({{"M", m}, {"N", n}}));
  return program([&] {
    const Array x = random({m, n}, f32);
    Array y = empty({m, n}, f32);
    const auto call = [&](auto& at) { return softmax(at(x), out(at(y)), at.stream()); };
    const auto expected = reference(x, static_cast<std::size_t>(n));
    return check("softmax", call, y, expected, 1e-5) ? 0 : 1;
  });
}
