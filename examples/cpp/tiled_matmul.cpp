// SPDX-License-Identifier: Apache-2.0
//
// C = A @ B in f32 by tiles in shared memory.
//
//     tiled_matmul [M N K]        multiplies, on the first GPU or on the emulator
//     tiled_matmul --ptx M N K    prints the PTX
#include "tiled_matmul.h"

#include "check.h"
#include "matrices.h"

int main(int argc, char** argv) {
  using namespace examples;
  const auto sizes = numbers(argc, argv, {33, 70, 45});
  const auto m = sizes[0], n = sizes[1], k = sizes[2];
  if (has(argc, argv, "--ptx")) return show(tiled_matmul.ptx({{"M", m}, {"N", n}, {"K", k}}));
  return program([&] {
    const Array a = random({m, k}, f32), b = random({k, n}, f32);
    return multiply("tiled_matmul", tiled_matmul, a, b, false) ? 0 : 1;
  });
}
