// SPDX-License-Identifier: Apache-2.0
//
// RMSNorm over rows, with template values.
//
//     rms_norm [M N]          runs, on the first GPU or on the emulator
//     rms_norm --ptx M N      prints the PTX
//     rms_norm --report M N   prints registers, spills, occupancy, machine instructions by line
#include "rms_norm.h"

#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include "check.h"

namespace {

using namespace examples;

std::vector<double> reference(const Array& x, const Array& w, double eps) {
  const std::size_t columns = w.size();
  std::vector<double> y(x.size());
  for (std::size_t row = 0; row < x.size(); row += columns) {
    double sum = 0;
    for (std::size_t i = 0; i < columns; ++i) sum += x[row + i] * x[row + i];
    const double scale = 1 / std::sqrt(sum / static_cast<double>(columns) + eps);
    for (std::size_t i = 0; i < columns; ++i) y[row + i] = x[row + i] * scale * w[i];
  }
  return y;
}

}  // namespace

int main(int argc, char** argv) {
  const auto sizes = numbers(argc, argv, {16, 1024});
  const auto m = sizes[0], n = sizes[1];
  const auto kernel = rms_norm();
  if (has(argc, argv, "--ptx")) return show(kernel.ptx({{"M", m}, {"N", n}}));
  if (has(argc, argv, "--report")) {
    const auto report = kernel.report({{"M", m}, {"N", n}});
    return show(
        report.and_then([](const auto& r) -> diag::Result<std::string> { return r.text(); }));
  }
  return program([&] {
    const Array x = random({m, n}, f32), w = random({n}, f32);
    Array y = empty({m, n}, f32);
    const Norm norm{.eps = 1e-3};
    const auto call = [&](auto& at) { return kernel(at(x), at(w), out(at(y)), norm, at.stream()); };
    return check("rms_norm", call, y, reference(x, w, norm.eps), 1e-5) ? 0 : 1;
  });
}
