// SPDX-License-Identifier: Apache-2.0
//
// Inline mma.sync, ldmatrix, stmatrix and sparse mma, by what each architecture has.
#include <cstdint>

__global__ void half_product(const void* tile, float* out) {
  __shared__ __align__(16) unsigned char shared[4096];
  const auto at = static_cast<unsigned>(__cvta_generic_to_shared(shared + threadIdx.x * 16));
  unsigned a0, a1, a2, a3, b0, b1;
  float c0 = 0, c1 = 0, c2 = 0, c3 = 0;
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(a0), "=r"(a1), "=r"(a2), "=r"(a3)
               : "r"(at));
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];"
               : "=r"(b0), "=r"(b1)
               : "r"(at));
  asm("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, "
      "{%0,%1,%2,%3};"
      : "+f"(c0), "+f"(c1), "+f"(c2), "+f"(c3)
      : "r"(a0), "r"(a1), "r"(b0));
#if __CUDA_ARCH__ >= 800
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
      "{%8,%9}, {%0,%1,%2,%3};"
      : "+f"(c0), "+f"(c1), "+f"(c2), "+f"(c3)
      : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
  asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
      "{%8,%9}, {%0,%1,%2,%3};"
      : "+f"(c0), "+f"(c1), "+f"(c2), "+f"(c3)
      : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
#endif
  out[threadIdx.x] = c0 + c1 + c2 + c3;
}

__global__ void byte_product(const unsigned* a, int* out) {
  int d0 = 0, d1 = 0;
  asm("mma.sync.aligned.m8n8k16.row.col.satfinite.s32.s8.u8.s32 {%0,%1}, {%2}, {%3}, {%0,%1};"
      : "+r"(d0), "+r"(d1)
      : "r"(a[0]), "r"(a[1]));
#if __CUDA_ARCH__ >= 800
  int e[4] = {0, 0, 0, 0};
  asm("mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
      "{%8,%9}, {%0,%1,%2,%3};"
      : "+r"(e[0]), "+r"(e[1]), "+r"(e[2]), "+r"(e[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(a[4]), "r"(a[5]));
  d0 += e[0] + e[1] + e[2] + e[3];
#endif
  out[threadIdx.x] = d0 + d1;
}

#if __CUDA_ARCH__ >= 800
__global__ void sparse_product(const unsigned* a, float* out) {
  float c[4] = {0, 0, 0, 0};
#if __CUDA_ARCH__ >= 890
  asm("mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, "
      "{%4,%5,%6,%7}, {%8,%9,%10,%11}, {%0,%1,%2,%3}, %12, 0x0;"
#else
  asm("mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
      "{%8,%9,%10,%11}, {%0,%1,%2,%3}, %12, 0x0;"
#endif
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(a[4]), "r"(a[5]), "r"(a[6]), "r"(a[7]),
        "r"(a[8]));
  out[threadIdx.x] = c[0] + c[3];
}

__global__ void double_product(const double* a, double* out) {
  double c0 = 0, c1 = 0;
  asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};"
      : "+d"(c0), "+d"(c1)
      : "d"(a[0]), "d"(a[1]));
  out[threadIdx.x] = c0 + c1;
}
#endif

#if __CUDA_ARCH__ >= 890
__global__ void narrow_product(const unsigned* a, float* out) {
  float c[4] = {0, 0, 0, 0};
  asm("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e5m2.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
      "{%8,%9}, {%0,%1,%2,%3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(a[4]), "r"(a[5]));
  out[threadIdx.x] = c[0] + c[1];
}
#endif

#if __CUDA_ARCH__ >= 900
__global__ void store_matrix(const unsigned* a) {
  __shared__ __align__(16) unsigned char shared[4096];
  const auto at = static_cast<unsigned>(__cvta_generic_to_shared(shared + threadIdx.x * 16));
  asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1,%2,%3,%4};" ::"r"(at),
               "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3])
               : "memory");
}
#endif
