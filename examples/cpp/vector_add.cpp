// SPDX-License-Identifier: Apache-2.0
//
// Z = X + alpha * Y for vectors of several lengths, and a scalar that each call brings.
//
//     vector_add            adds vectors, on the first GPU or on the emulator
//     vector_add --ptx N    prints the PTX
#include "vector_add.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "check.h"

namespace {

using namespace examples;

bool add(std::int64_t n, double alpha) {
  const Array x = random({n}, f32), y = random({n}, f32);
  Array z = empty({n}, f32);
  std::vector<double> expected(x.size());
  for (std::size_t i = 0; i < expected.size(); ++i) expected[i] = x[i] + alpha * y[i];
  const auto call = [&](auto& at) {
    return vector_add(at(x), at(y), out(at(z)), alpha, at.stream());
  };
  return check("vector_add of " + std::to_string(n), call, z, expected, 1e-6);
}

}  // namespace

int main(int argc, char** argv) {
  const std::int64_t n = numbers(argc, argv, {1000})[0];
  if (has(argc, argv, "--ptx")) return show(vector_add.ptx({{"N", n}}));
  return program([] { return add(1000, 0.5) && add(1, -2.0) && add(65537, 0.5) ? 0 : 1; });
}
