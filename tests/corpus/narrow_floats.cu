// SPDX-License-Identifier: Apache-2.0
//
// fp8, fp6 and fp4 storage types and their conversions.
#include <cuda_fp16.h>
#include <cuda_fp4.h>
#include <cuda_fp6.h>
#include <cuda_fp8.h>

__global__ void eight(const float4* in, __nv_fp8x4_e4m3* e4m3, __nv_fp8x4_e5m2* e5m2,
                      __half* halves, float2* back) {
  const int i = threadIdx.x;
  e4m3[i] = __nv_fp8x4_e4m3(in[i]);
  e5m2[i] = __nv_fp8x4_e5m2(in[i]);
  const __nv_fp8_e4m3 one(halves[i]);
  halves[i] = static_cast<__half>(one);
  const __nv_fp8x2_e5m2 two(back[i]);
  back[i] = static_cast<float2>(two);
}

__global__ void six(const float2* in, __nv_fp6x2_storage_t* a, __nv_fp6x2_storage_t* b,
                    __half2_raw* out) {
  const int i = threadIdx.x;
  a[i] = __nv_cvt_float2_to_fp6x2(in[i], __NV_E2M3, cudaRoundNearest);
  b[i] = __nv_cvt_float2_to_fp6x2(in[i], __NV_E3M2, cudaRoundNearest);
  out[i] = __nv_cvt_fp6x2_to_halfraw2(a[i], __NV_E2M3);
}

__global__ void four(const float2* in, __nv_fp4x2_storage_t* a, __half2_raw* out) {
  const int i = threadIdx.x;
  a[i] = __nv_cvt_float2_to_fp4x2(in[i], __NV_E2M1, cudaRoundNearest);
  out[i] = __nv_cvt_fp4x2_to_halfraw2(a[i], __NV_E2M1);
}

__global__ void scales(const float2* in, __nv_fp8x2_storage_t* out, __nv_bfloat162_raw* back) {
  const int i = threadIdx.x;
  out[i] = __nv_cvt_float2_to_e8m0x2(in[i], __NV_SATFINITE, cudaRoundPosInf);
  back[i] = __nv_cvt_e8m0x2_to_bf162raw(out[i]);
}
