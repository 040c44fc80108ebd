// SPDX-License-Identifier: Apache-2.0
//
// Local arrays with dynamic indices, alloca, address-taken locals, large frames.
#include <alloca.h>

__device__ __noinline__ void fill(int* begin, int count, int value) {
  for (int i = 0; i < count; ++i) begin[i] = value + i;
}

__global__ void frames(int* out, int n) {
  int table[64];
  short pairs[16][2];
  fill(table, 64, n);
  for (int i = 0; i < 16; ++i) {
    pairs[i][0] = static_cast<short>(table[(i * n) & 63]);
    pairs[i][1] = static_cast<short>(table[(i + n) & 63]);
  }
  int escaped = n;
  int* pointer = &escaped;
  if (n > 3) pointer = table + (n & 31);
  *pointer += 1;
  out[threadIdx.x] = pairs[n & 15][n & 1] + escaped + table[n & 63];
}

__global__ void variable_frame(int* out, int n) {
  int* scratch = static_cast<int*>(alloca(n * sizeof(int)));
  fill(scratch, n, 3);
  out[threadIdx.x] = scratch[n / 2];
}

struct Matrix {
  double cell[8][8];
};
__device__ __noinline__ Matrix multiply(const Matrix& a, const Matrix& b) {
  Matrix c;
  for (int i = 0; i < 8; ++i)
    for (int j = 0; j < 8; ++j) {
      c.cell[i][j] = 0;
      for (int k = 0; k < 8; ++k) c.cell[i][j] += a.cell[i][k] * b.cell[k][j];
    }
  return c;
}
__global__ void matrices(Matrix* m) { m[2] = multiply(m[0], multiply(m[1], m[0])); }
