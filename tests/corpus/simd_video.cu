// SPDX-License-Identifier: Apache-2.0
//
// dp4a, dp2a, byte permutes, funnel shifts, and the SIMD-in-a-word intrinsics.
#include <sm_61_intrinsics.h>

__global__ void dots(const int* a, const int* b, int* c) {
  const int i = threadIdx.x;
#ifdef __CUDACC_DEBUG__  // -G: nvcc 13.4 stops at these intrinsics below sm_100
  asm("dp4a.s32.u32 %0, %1, %2, %3;" : "=r"(c[i]) : "r"(a[i]), "r"(b[i]), "r"(c[i]));
  asm("dp2a.lo.u32.s32 %0, %1, %2, %3;" : "=r"(c[i + 1]) : "r"(a[i]), "r"(b[i]), "r"(c[i]));
#else
  c[i] = __dp4a(a[i], b[i], c[i]);
  c[i + 1] =
      __dp4a(static_cast<unsigned>(a[i]), static_cast<unsigned>(b[i]), static_cast<unsigned>(c[i]));
  c[i + 2] = __dp2a_lo(make_short2(a[i], 2), make_char4(1, 2, 3, 4), c[i]);
  c[i + 3] = __dp2a_hi(make_ushort2(a[i], 2), make_uchar4(1, 2, 3, 4), static_cast<unsigned>(c[i]));
#endif
}

__global__ void bytes(const unsigned* a, const unsigned* b, unsigned* c) {
  const int i = threadIdx.x;
  unsigned x = __vadd4(a[i], b[i]);
  x = __vsubus4(x, a[i]);
  x = __vmaxs4(x, b[i]) ^ __vminu2(x, b[i]);
  x += __vabsdiffu4(x, a[i]) + __vsadu4(a[i], b[i]);
  x ^= __vcmpgts2(a[i], b[i]) | __vseteq4(a[i], b[i]);
  x += __vavgu4(a[i], x) + __vneg4(x) + __vabs2(x);
  x = __viaddmax_s16x2_relu(x, a[i], b[i]);
  x ^= __vimax3_u32(a[i], b[i], x);
  c[i] = x;
}

__global__ void shifts(const unsigned* a, unsigned* c, unsigned long long* wide) {
  const int i = threadIdx.x;
  unsigned x = __byte_perm(a[i], a[i + 1], 0x5410);
  x = __funnelshift_l(x, a[i], 5) ^ __funnelshift_rc(x, a[i], i);
  x ^= __brev(x) + __clz(x) + __ffs(x) + __popc(x);
  wide[i] = __brevll(wide[i]) + __clzll(wide[i]) + __popcll(wide[i]) + __ffsll(wide[i]);
  x += __umul24(x, a[i]) + __mul24(static_cast<int>(x), 3) + __sad(static_cast<int>(x), 2, 7u);
  x ^= __umulhi(x, a[i]) + __hadd(3, static_cast<int>(x)) + __urhadd(x, a[i]);
  unsigned field;
  asm("bfe.u32 %0, %1, 4, 8;" : "=r"(field) : "r"(x));
  asm("bfi.b32 %0, %1, %2, 8, 8;" : "=r"(x) : "r"(field), "r"(x));
  asm("lop3.b32 %0, %1, %2, %3, 0x96;" : "=r"(x) : "r"(x), "r"(field), "r"(a[i]));
  asm("prmt.b32.f4e %0, %1, %2, %3;" : "=r"(x) : "r"(x), "r"(field), "r"(a[i] & 3));
  asm("szext.wrap.u32 %0, %1, 7;" : "=r"(field) : "r"(x));
  asm("bmsk.clamp.b32 %0, %1, 3;" : "=r"(x) : "r"(field));
  c[i] = x;
}
