// SPDX-License-Identifier: Apache-2.0
//
// The same as quantise_fp8.py. A row is read twice, as its length is known at run time alone.
#include <cuda_fp8.h>

__device__ float warp_max(float value) {
  for (int distance = 16; distance > 0; distance /= 2) {
    value = fmaxf(value, __shfl_xor_sync(~0u, value, distance));
  }
  return value;
}

__global__ void quantise_fp8(const float4* __restrict__ x, __nv_fp8x4_e4m3* __restrict__ q,
                             float* __restrict__ scales, int columns) {
  const float4* row = x + size_t(blockIdx.x) * (columns / 4);
  __nv_fp8x4_e4m3* out = q + size_t(blockIdx.x) * (columns / 4);
  float largest = 1e-30f;
  for (int i = threadIdx.x; i < columns / 4; i += 32) {
    const float4 v = row[i];
    largest = fmaxf(largest, fmaxf(fmaxf(fabsf(v.x), fabsf(v.y)), fmaxf(fabsf(v.z), fabsf(v.w))));
  }
  const float scale = warp_max(largest) * (1.0f / 448.0f);
  const float inverse = 1.0f / scale;
  for (int i = threadIdx.x; i < columns / 4; i += 32) {
    const float4 v = row[i];
    out[i] =
        __nv_fp8x4_e4m3(make_float4(v.x * inverse, v.y * inverse, v.z * inverse, v.w * inverse));
  }
  if (threadIdx.x == 0) {
    scales[blockIdx.x] = scale;
  }
}
