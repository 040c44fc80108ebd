// SPDX-License-Identifier: Apache-2.0
//
// The same as work_queue.py.
__device__ unsigned taken;
__device__ unsigned left;

__device__ float warp_sum(float value) {
  for (int distance = 16; distance > 0; distance /= 2) {
    value += __shfl_xor_sync(~0u, value, distance);
  }
  return value;
}

__global__ void work_queue(const float* __restrict__ x, const int* __restrict__ offsets,
                           float* __restrict__ y, unsigned segments) {
  while (true) {
    unsigned segment;
    if (threadIdx.x == 0) {
      segment = atomicAdd(&taken, 1u);
    }
    segment = __shfl_sync(~0u, segment, 0);
    if (segment >= segments) {
      break;
    }
    float total = 0.0f;
    const int end = offsets[segment + 1];
    for (int n = offsets[segment] + threadIdx.x; n < end; n += 32) {
      total += x[n];
    }
    total = warp_sum(total);
    if (threadIdx.x == 0) {
      y[segment] = total;
    }
  }
  if (threadIdx.x == 0 && atomicInc(&left, gridDim.x - 1) == gridDim.x - 1) {
    taken = 0;
  }
}
