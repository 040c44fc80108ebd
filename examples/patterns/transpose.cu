// SPDX-License-Identifier: Apache-2.0
//
// The same as transpose.py.
__global__ void transpose(const float* __restrict__ x, float* __restrict__ y, int rows,
                          int columns) {
  __shared__ float tile[32][32];
  const int left = blockIdx.x * 32;
  const int top = blockIdx.y * 32;
  for (int i = threadIdx.y; i < 32; i += 8) {
    if (top + i < rows && left + threadIdx.x < columns) {
      tile[i][threadIdx.x ^ i] = x[size_t(top + i) * columns + left + threadIdx.x];
    }
  }
  __syncthreads();
  for (int i = threadIdx.y; i < 32; i += 8) {
    if (left + i < columns && top + threadIdx.x < rows) {
      y[size_t(left + i) * rows + top + threadIdx.x] = tile[threadIdx.x][threadIdx.x ^ i];
    }
  }
}
