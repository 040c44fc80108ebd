// SPDX-License-Identifier: Apache-2.0
//
// The same as argmax.py.
__device__ unsigned long long packed(float value, unsigned place) {
  unsigned bits = __float_as_uint(value);
  bits ^= unsigned(int(bits) >> 31) | 0x80000000u;
  return (unsigned long long)bits << 32 | ~place;
}

__device__ unsigned long long warp_max(unsigned long long value) {
  for (int distance = 16; distance > 0; distance /= 2) {
    value = max(value, __shfl_xor_sync(~0u, value, distance));
  }
  return value;
}

__global__ void argmax(const float* __restrict__ x, long long* __restrict__ y, int columns) {
  __shared__ unsigned long long of_warps[4];
  const float* row = x + size_t(blockIdx.x) * columns;
  unsigned long long best = 0;
  for (int n = threadIdx.x; n < columns; n += blockDim.x) {
    best = max(best, packed(row[n], n));
  }
  best = warp_max(best);
  if (threadIdx.x % 32 == 0) {
    of_warps[threadIdx.x / 32] = best;
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int warp = 1; warp < 4; ++warp) {
      best = max(best, of_warps[warp]);
    }
    y[blockIdx.x] = ~unsigned(best);
  }
}
