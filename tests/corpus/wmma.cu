// SPDX-License-Identifier: Apache-2.0
//
// The nvcuda::wmma fragments: half, bf16, tf32, integers, single bits, doubles.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>

namespace wmma = nvcuda::wmma;

template <typename In, typename Sum, int M, int N, int K, typename LayoutB>
__device__ void product(const In* a, const In* b, Sum* c, int stride) {
  wmma::fragment<wmma::matrix_a, M, N, K, In, wmma::row_major> fa;
  wmma::fragment<wmma::matrix_b, M, N, K, In, LayoutB> fb;
  wmma::fragment<wmma::accumulator, M, N, K, Sum> fc;
  wmma::fill_fragment(fc, Sum(0));
  for (int k = 0; k < 4; ++k) {
    wmma::load_matrix_sync(fa, a + k * K, stride);
    wmma::load_matrix_sync(fb, b + k * K, stride);
    wmma::mma_sync(fc, fa, fb, fc);
  }
  for (int i = 0; i < fc.num_elements; ++i) fc.x[i] += fc.x[0];
  wmma::store_matrix_sync(c, fc, stride, wmma::mem_row_major);
}

__global__ void halves(const __half* a, const __half* b, float* c, __half* d) {
  product<__half, float, 16, 16, 16, wmma::col_major>(a, b, c, 64);
  product<__half, __half, 32, 8, 16, wmma::row_major>(a, b, d, 64);
  product<__half, float, 8, 32, 16, wmma::col_major>(a, b, c, 64);
}

__global__ void bytes(const signed char* a, const signed char* b, int* c) {
  product<signed char, int, 16, 16, 16, wmma::col_major>(a, b, c, 64);
}

__global__ void unsigned_bytes(const unsigned char* a, const unsigned char* b, int* c) {
  product<unsigned char, int, 32, 8, 16, wmma::col_major>(a, b, c, 64);
}

// -G: from sm_100 on nvcc 13.4 stops at the exclusive or, which the debug code keeps as a branch.
#if !defined(__CUDACC_DEBUG__) || !defined(__CUDA_ARCH__) || __CUDA_ARCH__ < 1000
__global__ void bits(const void* a, const void* b, int* c) {
  namespace experimental = wmma::experimental;
  wmma::fragment<wmma::matrix_a, 8, 8, 128, experimental::precision::b1, wmma::row_major> fa;
  wmma::fragment<wmma::matrix_b, 8, 8, 128, experimental::precision::b1, wmma::col_major> fb;
  wmma::fragment<wmma::accumulator, 8, 8, 128, int> fc;
  wmma::fill_fragment(fc, 0);
  wmma::load_matrix_sync(fa, a, 128);
  wmma::load_matrix_sync(fb, b, 128);
  wmma::bmma_sync(fc, fa, fb, fc);
  wmma::store_matrix_sync(c, fc, 8, wmma::mem_col_major);
}
#endif

#if __CUDA_ARCH__ >= 800 || !defined(__CUDA_ARCH__)
__global__ void brains(const __nv_bfloat16* a, const __nv_bfloat16* b, float* c) {
  product<__nv_bfloat16, float, 16, 16, 16, wmma::row_major>(a, b, c, 64);
}

__global__ void doubles(const double* a, const double* b, double* c) {
  product<double, double, 8, 8, 4, wmma::col_major>(a, b, c, 64);
}

__global__ void tensor_floats(const float* a, const float* b, float* c) {
  wmma::fragment<wmma::matrix_a, 16, 16, 8, wmma::precision::tf32, wmma::row_major> fa;
  wmma::fragment<wmma::matrix_b, 16, 16, 8, wmma::precision::tf32, wmma::col_major> fb;
  wmma::fragment<wmma::accumulator, 16, 16, 8, float> fc;
  wmma::load_matrix_sync(fc, c, 16, wmma::mem_row_major);
  wmma::load_matrix_sync(fa, a, 16);
  wmma::load_matrix_sync(fb, b, 16);
  for (int i = 0; i < fa.num_elements; ++i) fa.x[i] = wmma::__float_to_tf32(fa.x[i]);
  wmma::mma_sync(fc, fa, fb, fc);
  wmma::store_matrix_sync(c, fc, 16, wmma::mem_row_major);
}
#endif
