// SPDX-License-Identifier: Apache-2.0
//
// Kernels that launch kernels (needs relocatable device code).
__global__ void child(int* data, int depth) { data[threadIdx.x] += depth; }

__global__ void parent(int* data, int depth) {
  if (threadIdx.x == 0 && depth > 0) {
    child<<<1, 32>>>(data, depth);
    parent<<<1, 32, 0, cudaStreamTailLaunch>>>(data, depth - 1);
    child<<<dim3(2, 1, 1), dim3(8, 4, 1), 1024, cudaStreamFireAndForget>>>(data, -depth);
    if (cudaGetLastError() != cudaSuccess) data[0] = -1;
  }
}
