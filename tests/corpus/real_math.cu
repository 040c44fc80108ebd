// SPDX-License-Identifier: Apache-2.0
//
// Single and double math: the libdevice functions, roundings, fast intrinsics.
__global__ void doubles(const double* in, double* out) {
  const int i = threadIdx.x;
  const double x = in[i];
  double s, c;
  sincos(x, &s, &c);
  out[i] = s * c + exp(x) + log(fabs(x) + 1.0) + pow(x, 2.5) + tgamma(x);
  out[i + 1] = sqrt(x) + rsqrt(x) + cbrt(x) + hypot(x, s) + atan2(s, c) + erf(x);
  out[i + 2] = fma(x, s, c) + fmod(x, 3.0) + remainder(x, 2.0) + ldexp(x, 5) + trunc(x) + rint(x);
  out[i + 3] = __dadd_ru(x, s) + __dmul_rz(x, c) + __ddiv_rd(x, 3.0) + __drcp_rn(x) +
               __dsqrt_rn(x) + __fma_ru(x, s, c);
  out[i + 4] = static_cast<double>(__double2ll_rd(x)) + __double2int_rz(x) +
               __longlong_as_double(__double2ull_ru(x)) + __hiloint2double(3, __double2loint(x));
  out[i + 5] = isnan(x) ? 0.0 : copysign(nextafter(x, 2.0), s) + j0(x) + normcdf(x);
}

__global__ void singles(const float* in, float* out) {
  const int i = threadIdx.x;
  const float x = in[i];
  out[i] = sinf(x) + cosf(x) + tanf(x) + expf(x) + logf(x) + powf(x, 1.5f) + tanhf(x);
  out[i + 1] = __sinf(x) + __cosf(x) + __expf(x) + __logf(x) + __powf(x, 2.0f) + __tanf(x);
  out[i + 2] = __fadd_rz(x, 1.0f) + __fmul_rd(x, 2.0f) + __fdiv_ru(x, 3.0f) + __frcp_rn(x) +
               __fsqrt_rz(x) + __fdividef(x, 5.0f) + __saturatef(x) + __frsqrt_rn(x);
  out[i + 3] = floorf(x) + ceilf(x) + roundf(x) + truncf(x) + rintf(x) + fabsf(-x) + fminf(x, 1.f);
  out[i + 4] = static_cast<float>(__float2int_rn(x)) + __int2float_rz(i) + __uint2float_rn(i) +
               __ll2float_ru(i) + __float2ull_rd(x) + static_cast<float>(static_cast<char>(x));
  out[i + 5] = x / 3.0f + sqrtf(x) + rsqrtf(x) + fmaf(x, x, 1.0f) + exp2f(x) + log2f(x) + erfcf(x);
  out[i + 6] = isfinite(x) ? fmaxf(x, out[i]) : __int_as_float(0x7F800000);
  float approximate;
  asm("tanh.approx.f32 %0, %1;" : "=f"(approximate) : "f"(x));
  asm("ex2.approx.ftz.f32 %0, %0;" : "+f"(approximate));
  out[i + 7] = approximate;
}
