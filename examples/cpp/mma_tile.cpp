// SPDX-License-Identifier: Apache-2.0
//
// C = A @ B^T by mma.sync, one warp for every 16 x 16 elements of C.
//
//     mma_tile [M N K]        multiplies, on the first GPU or on the emulator
//     mma_tile --ptx M N K    prints the PTX
#include "mma_tile.h"

#include "check.h"
#include "matrices.h"

int main(int argc, char** argv) {
  using namespace examples;
  const auto sizes = numbers(argc, argv, {32, 48, 64});
  const auto m = sizes[0], n = sizes[1], k = sizes[2];
  if (has(argc, argv, "--ptx")) return show(mma_tile.ptx({{"M", m}, {"N", n}, {"K", k}}));
  return program([&] {
    const Array a = random({m, k}, bf16), b = random({n, k}, bf16);
    return multiply("mma_tile", mma_tile, a, b, true) ? 0 : 1;
  });
}
