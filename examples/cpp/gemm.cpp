// SPDX-License-Identifier: Apache-2.0
//
// C = A @ B^T on Hopper, by TMA and wgmma.
//
//     gemm [--pointer] [M N K]        multiplies, on the first GPU or on the emulator
//     gemm [--pointer] --ptx M N K    prints the PTX
//
// The maps come in the parameters, or by pointer.
#include "gemm.h"

#include "check.h"
#include "matrices.h"

int main(int argc, char** argv) {
  using namespace examples;
  const auto sizes = numbers(argc, argv, {130, 129, 200});
  const auto m = sizes[0], n = sizes[1], k = sizes[2];
  const auto kernel = gemm::build(!has(argc, argv, "--pointer"));
  if (has(argc, argv, "--ptx")) return show(kernel.ptx({{"M", m}, {"N", n}, {"K", k}}));
  return program([&] {
    const Array a = random({m, k}, bf16), b = random({n, k}, bf16);
    return multiply("gemm", kernel, a, b, true) ? 0 : 1;
  });
}
