// SPDX-License-Identifier: Apache-2.0
//
// fp16 and bf16 arithmetic: scalar and packed, comparisons, conversions, fused and saturating.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

__global__ void halves(const __half* a, const __half* b, __half* out) {
  const int i = threadIdx.x;
  __half x = __hadd(a[i], b[i]);
  x = __hfma(x, a[i], b[i]);
  x = __hmul_sat(x, b[i]);
#if __CUDA_ARCH__ >= 800
  x = __hfma_relu(x, x, a[i]);
#endif
  x = __hdiv(x, __hadd(b[i], __float2half(1.5f)));
  if (__hgt(x, a[i]) && !__hisnan(x)) x = hsqrt(x);
  x = __hmax(hexp(x), hlog(a[i]));
  x = __hadd(x, hsin(b[i]));
  x = __hmin_nan(x, htanh(a[i]));
  out[i] = __hneg(__habs(x));
}

__global__ void packed(const __half2* a, const __half2* b, __half2* out, unsigned* mask) {
  const int i = threadIdx.x;
  __half2 x = __hfma2(a[i], b[i], __hmul2_sat(a[i], b[i]));
  x = __hadd2_rn(x, h2rcp(b[i]));
  x = __hmax2(x, h2exp2(a[i]));
  mask[i] = __hle2_mask(x, a[i]) | __hequ2_mask(x, b[i]);
  out[i] = __lowhigh2highlow(x);
  if (__hbgt2(x, b[i])) atomicAdd(out + 100, x);
}

#if __CUDA_ARCH__ >= 800 || !defined(__CUDA_ARCH__)
__global__ void brains(const __nv_bfloat162* a, __nv_bfloat16* b, float* f, long long* n) {
  const int i = threadIdx.x;
  __nv_bfloat162 x = __hfma2_relu(a[i], a[i + 1], a[i + 2]);
  x = __hmin2(x, h2tanh(a[i]));
  b[i] = __hadd(__low2bfloat16(x), __high2bfloat16(x));
  f[i] = __bfloat162float(b[i]) + __low2float(x);
  b[i + 1] = __float2bfloat16_rz(f[i]);
  b[i + 2] = __double2bfloat16(f[i] * 2.0);
  n[i] = __bfloat162ll_rn(b[i]) + __bfloat162uint_ru(b[i]);
}
#endif

__global__ void conversions(const float* f, const int* n, __half* h, short* s) {
  const int i = threadIdx.x;
  h[i] = __float2half_rd(f[i]);
  h[i + 1] = __int2half_rz(n[i]);
  h[i + 2] = __ushort_as_half(static_cast<unsigned short>(n[i]));
  s[i] = __half2short_rn(h[i]);
  s[i + 1] = static_cast<short>(__half2uint_rz(h[i + 1]));
  const __half2 both = __floats2half2_rn(f[i], f[i + 1]);
  reinterpret_cast<__half2*>(h)[i + 8] = both;
}
