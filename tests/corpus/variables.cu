// SPDX-License-Identifier: Apache-2.0
//
// Device, constant, managed and shared variables with initialisers, pointers and structures.
#include <cuda_fp16.h>

struct Pair {
  int key;
  double value;
};
struct alignas(32) Wide {
  unsigned char bytes[40];
  const float* pointer;
};

__device__ int counter = 42;
__device__ float grid[2][3] = {{1.0f, 2.0f, 3.0f}, {4.0f}};
__device__ const char text[] = "hello, \"world\"\n\001";
__device__ Pair pairs[] = {{1, 1.5}, {2, -2.5}};
__device__ const char* names[] = {"zero", "one", text};
__device__ int* cross = &counter;
__device__ float* middle = &grid[1][1];
__device__ Wide wide = {{1, 2, 3}, &grid[0][2]};
__device__ long long negative = -1234567890123ll;
__device__ double tiny = 1e-300;
__device__ bool flags[5] = {true, false, true};
__device__ __half_raw* nothing = nullptr;
__constant__ float coefficients[16] = {0.5f, 0.25f};
__constant__ Pair limit = {7, 0.125};
__constant__ const int* indirect = nullptr;
__managed__ int shared_with_host = 5;
__managed__ float managed_array[64];
static __device__ unsigned private_state = 0xDEADBEEFu;
__device__ volatile int spin;

__global__ void use(float* out) {
  __shared__ int fixed[32];
  __shared__ Pair one;
  extern __shared__ unsigned char dynamic[];
  const int i = threadIdx.x;
  fixed[i] = counter + *cross + names[i % 3][0] + text[i % 4];
  if (i == 0) one = pairs[1];
  __syncthreads();
  dynamic[i] = static_cast<unsigned char>(fixed[31 - i]);
  out[i] = coefficients[i % 16] + static_cast<float>(limit.value) + *middle +
           static_cast<float>(one.value) + managed_array[i] + wide.bytes[i % 40];
  out[i + 32] = static_cast<float>(negative) + static_cast<float>(tiny) + flags[i % 5];
  shared_with_host += dynamic[i];
  private_state = private_state * 1664525u + 1013904223u;
  while (spin != 0) {
  }
  if (nothing != nullptr || indirect != nullptr) out[0] = 0;
}
