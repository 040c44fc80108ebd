// SPDX-License-Identifier: Apache-2.0
//
// The sum of vectors of several lengths by one kernel.
#include "block_sum.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "check.h"

namespace {

using namespace examples;

bool sum(std::int64_t n) {
  const Array x = random({n}, f32);
  Array y = empty({1}, f32);
  double expected = 0;
  double size = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    expected += x[i];
    size += std::abs(x[i]);
  }
  const auto call = [&](auto& at) { return block_sum(at(x), out(at(y)), at.stream()); };
  // Terms of either sign may cancel: an error is as large as they are, not as their sum.
  const double tolerance = 1e-6 * size / std::abs(expected);
  return check("block_sum of " + std::to_string(n), call, y, std::vector{expected}, tolerance);
}

}  // namespace

int main(int argc, char** argv) {
  if (has(argc, argv, "--ptx")) return show(block_sum.ptx());
  return program([] { return sum(1000) && sum(1) && sum(130) ? 0 : 1; });
}
