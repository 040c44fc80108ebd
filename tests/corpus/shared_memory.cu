// SPDX-License-Identifier: Apache-2.0
//
// Static, dynamic and aliased shared memory; matrix multiplication by tiles; async copies.
#include <cuda_pipeline.h>

template <int Tile>
__global__ void multiply(const float* a, const float* b, float* c, int n) {
  __shared__ float left[Tile][Tile];
  __shared__ float right[Tile][Tile + 1];
  const int row = blockIdx.y * Tile + threadIdx.y;
  const int column = blockIdx.x * Tile + threadIdx.x;
  float sum = 0.0f;
  for (int t = 0; t < n; t += Tile) {
    left[threadIdx.y][threadIdx.x] = a[row * n + t + threadIdx.x];
    right[threadIdx.y][threadIdx.x] = b[(t + threadIdx.y) * n + column];
    __syncthreads();
#pragma unroll
    for (int k = 0; k < Tile; ++k) sum += left[threadIdx.y][k] * right[k][threadIdx.x];
    __syncthreads();
  }
  c[row * n + column] = sum;
}
template __global__ void multiply<16>(const float*, const float*, float*, int);

__global__ void aliased(const double* in, double* out) {
  extern __shared__ __align__(16) unsigned char raw[];
  double* values = reinterpret_cast<double*>(raw);
  int* counts = reinterpret_cast<int*>(raw + blockDim.x * sizeof(double));
  values[threadIdx.x] = in[threadIdx.x];
  counts[threadIdx.x] = static_cast<int>(in[threadIdx.x]);
  __syncthreads();
  out[threadIdx.x] = values[blockDim.x - 1 - threadIdx.x] + counts[threadIdx.x ^ 1];
}

__global__ void copies(const float4* in, float4* out, int count) {
  __shared__ float4 stages[3][64];
  for (int i = 0; i < count; ++i) {
    __pipeline_memcpy_async(&stages[i % 3][threadIdx.x], in + i * 64 + threadIdx.x, sizeof(float4));
    __pipeline_commit();
    __pipeline_wait_prior(1);
    __syncthreads();
    out[i * 64 + threadIdx.x] = stages[(i + 2) % 3][63 - threadIdx.x];
  }
}
