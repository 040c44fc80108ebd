// SPDX-License-Identifier: Apache-2.0
//
// Launch bounds, register limits, cluster dimensions, grid constants, parameter alignment.
struct alignas(64) Configuration {
  int values[24];
};

__global__ void __launch_bounds__(256, 2) bounded(int* p) { p[threadIdx.x] = 1; }

__global__ void __maxnreg__(64) few_registers(int* p) { p[threadIdx.x] = 2; }

__global__ void constant_parameter(const __grid_constant__ Configuration c, int* p) {
  const Configuration* pointer = &c;
  p[threadIdx.x] = pointer->values[threadIdx.x % 24];
}

__global__ void many(char a, short b, int c, long long d, float e, double f, Configuration g,
                     int* __restrict__ out, const int* __restrict__ in) {
  out[threadIdx.x] = in[threadIdx.x] + a + b + c + static_cast<int>(d + e + f) + g.values[3];
}

#if __CUDA_ARCH__ >= 900 || !defined(__CUDA_ARCH__)
__global__ void __cluster_dims__(2, 1, 1) __launch_bounds__(128, 1, 4) clustered(int* p) {
  p[threadIdx.x] = 3;
}

__global__ void __launch_bounds__(128, 1, 8) dependent(int* p) {
  asm volatile("griddepcontrol.wait;" ::: "memory");
  p[threadIdx.x] += 4;
  asm volatile("griddepcontrol.launch_dependents;");
}
#endif

__global__ void hints(const float* p, float* out) {
  const float* aligned = static_cast<const float*>(__builtin_assume_aligned(p, 16));
  __builtin_assume(threadIdx.x < 64);
  float sum = 0;
#pragma unroll 4
  for (int i = 0; i < 16; ++i) sum += __ldg(aligned + i) + __ldcs(aligned + i + 16);
#pragma unroll 1
  for (int i = 0; i < 8; ++i) sum += __ldcg(aligned + i * 3);
  __stcs(out + threadIdx.x, sum);
  __stwt(out + threadIdx.x + 64, sum);
  if (__builtin_expect(sum > 1e10f, 0)) __builtin_unreachable();
}
