// SPDX-License-Identifier: Apache-2.0
//
// Inline assembly of odd corners: vectors, predicates, labels, video, cache operators.
__global__ void memory(unsigned* p, float4* v) {
  unsigned a, b, c, d;
  asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(a), "=r"(b), "=r"(c), "=r"(d)
               : "l"(p));
  asm volatile("ld.relaxed.gpu.global.u32 %0, [%1+4];" : "=r"(a) : "l"(p) : "memory");
  asm volatile("st.release.sys.global.u32 [%0+8], %1;" ::"l"(p), "r"(b) : "memory");
  asm volatile("st.global.cs.v2.u32 [%0], {%1, %2};" ::"l"(p + 4), "r"(c), "r"(d) : "memory");
  asm volatile("prefetch.global.L2 [%0];\nprefetchu.L1 [%0];" ::"l"(p));
  asm volatile("ld.volatile.global.u8 %0, [%1];" : "=r"(c) : "l"(p));
  asm volatile("membar.gl;\nfence.acq_rel.gpu;" ::: "memory");
#if __CUDA_ARCH__ >= 800
  asm volatile("discard.global.L2 [%0], 128;" ::"l"(p));
  unsigned long long policy;
  asm volatile("createpolicy.fractional.L2::evict_first.b64 %0, 0.5;" : "=l"(policy));
  asm volatile("ld.global.L2::cache_hint.u32 %0, [%1], %2;" : "=r"(d) : "l"(p), "l"(policy));
#endif
  p[0] = a + b + c + d;
}

__global__ void control(int* p, int n) {
  int x = 0;
  asm volatile(
      "{\n\t.reg .pred p, q;\n\t.reg .b32 t<3>;\n\t"
      "setp.gt.and.s32 p|q, %1, 4, 1;\n\t"
      "@p bra.uni DONE%=;\n\tmov.b32 t0, %1;\n\t"
      "LOOP%=:\n\tadd.s32 t0, t0, -1; add.s32 %0, %0, t0;\n\t"
      "setp.ne.s32 q, t0, 0;\n\t@q bra LOOP%=;\n\t"
      "DONE%=:\n\tslct.s32.s32 %0, %0, 7, %1;\n\t}"
      : "+r"(x)
      : "r"(n));
  asm("{ .reg .pred c; isspacep.global c, %1; @!c mov.u32 %0, 0; }" : "+r"(x) : "l"(p));
  p[threadIdx.x] = x;
}

__global__ void video(const unsigned* a, int* out) {
  int r;
  asm("vadd.s32.u32.s32.sat %0, %1.b0, %2.h1;" : "=r"(r) : "r"(a[0]), "r"(a[1]));
  asm("vmad.s32.s32.u32 %0, %1.b3, %2.b1, %0;" : "+r"(r) : "r"(a[2]), "r"(a[3]));
  asm("vset.s32.u32.lt %0, %1, %2;" : "=r"(r) : "r"(r), "r"(a[4]));
  asm("vshl.u32.u32.u32.clamp %0, %1, %2;" : "=r"(r) : "r"(r), "r"(a[5]));
  out[threadIdx.x] = r;
}

__global__ void packing(unsigned long long* l, double* d, short* s) {
  unsigned low, high;
  asm("mov.b64 {%0, %1}, %2;" : "=r"(low), "=r"(high) : "l"(l[0]));
  asm("mov.b64 %0, {%1, %2};" : "=l"(l[1]) : "r"(high), "r"(low));
  asm("mov.b32 {%0, %1}, %2;" : "=h"(s[0]), "=h"(s[1]) : "r"(low));
  asm("cvt.rni.s32.f64 %0, %1;" : "=r"(low) : "d"(d[0]));
  asm("cvt.sat.u8.s32 %0, %0;" : "+r"(low));
  asm("{ .reg .pred t; testp.subnormal.f64 t, %1; selp.u32 %0, 1, 0, t; }"
      : "=r"(high)
      : "d"(d[0]));
  l[2] = low + high;
}
