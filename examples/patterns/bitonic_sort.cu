// SPDX-License-Identifier: Apache-2.0
//
// The same as bitonic_sort.py.
constexpr unsigned kLength = 256;

__global__ void bitonic_sort(const float* __restrict__ x, float* __restrict__ y, unsigned columns) {
  __shared__ float keys[kLength];
  const size_t row = size_t(blockIdx.x) * columns;
  for (unsigned n = threadIdx.x; n < kLength; n += blockDim.x) {
    keys[n] = n < columns ? x[row + n] : INFINITY;
  }
  for (unsigned size = 2; size <= kLength; size *= 2) {
    for (unsigned distance = size / 2; distance > 0; distance /= 2) {
      __syncthreads();
      const unsigned low = 2 * (threadIdx.x & ~(distance - 1)) | (threadIdx.x & (distance - 1));
      const float a = keys[low];
      const float b = keys[low | distance];
      const bool falls = (low & size) != 0;
      keys[low] = falls ? fmaxf(a, b) : fminf(a, b);
      keys[low | distance] = falls ? fminf(a, b) : fmaxf(a, b);
    }
  }
  __syncthreads();
  for (unsigned n = threadIdx.x; n < columns; n += blockDim.x) {
    y[row + n] = keys[n];
  }
}
