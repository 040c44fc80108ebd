// SPDX-License-Identifier: Apache-2.0
//
// The same as axpby.py.
__global__ void axpby(const float* __restrict__ x, const float* __restrict__ z,
                      float* __restrict__ y, float a, float b, unsigned n) {
  const unsigned stride = gridDim.x * blockDim.x;
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
    y[i] = a * x[i] + b * z[i];
  }
}
