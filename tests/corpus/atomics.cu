// SPDX-License-Identifier: Apache-2.0
//
// Atomics of every operation, width, scope and order; cuda::atomic and atomic_ref.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda/atomic>

__global__ void classic(int* i, unsigned* u, unsigned long long* l, float* f, double* d) {
  __shared__ int shared[4];
  atomicAdd(i, 1);
  atomicSub(i, 2);
  atomicMin(i, 3);
  atomicMax(u, 4u);
  atomicInc(u, 100u);
  atomicDec(u, 100u);
  atomicAnd(i, 0xF0);
  atomicOr(u, 0x0Fu);
  atomicXor(l, 0xFFull);
  atomicMax(reinterpret_cast<long long*>(l), -5ll);
  i[1] = atomicExch(i, 7);
  u[1] = atomicCAS(u, 1u, 2u);
  l[1] = atomicCAS(l, 1ull, 2ull);
  f[1] = atomicAdd(f, 1.0f);
  d[1] = atomicAdd(d, 1.0);
  f[2] = atomicExch(f, 2.0f);
  atomicAdd(shared + threadIdx.x % 4, i[0]);
  atomicMin_block(i + 2, 3);
  atomicAdd_system(l, 9ull);
  unsigned short* words = reinterpret_cast<unsigned short*>(u);
  words[8] = atomicCAS(words, static_cast<unsigned short>(1), static_cast<unsigned short>(2));
}

__global__ void packed(__half2* h, __half* one, __nv_bfloat162* b) {
  atomicAdd(h, __floats2half2_rn(1.0f, 2.0f));
  atomicAdd(one, __float2half(1.0f));
#if __CUDA_ARCH__ >= 800
  atomicAdd(b, __floats2bfloat162_rn(1.0f, 2.0f));
#endif
#if __CUDA_ARCH__ >= 900
  float4* wide = reinterpret_cast<float4*>(h);
  atomicAdd(wide, make_float4(1, 2, 3, 4));
#endif
}

template <cuda::thread_scope Scope>
__device__ long long ordered(cuda::atomic<int, Scope>* a, long long* raw) {
  cuda::atomic_ref<long long, Scope> ref(*raw);
  long long sum = a->load(cuda::memory_order_acquire);
  a->store(3, cuda::memory_order_release);
  sum += a->fetch_add(2, cuda::memory_order_relaxed);
  sum += a->exchange(4, cuda::memory_order_acq_rel);
  int expected = 5;
  a->compare_exchange_strong(expected, 6, cuda::memory_order_seq_cst);
  sum += ref.fetch_max(9, cuda::memory_order_relaxed) + ref.fetch_and(0xFF);
  ref.store(1, cuda::memory_order_seq_cst);
  cuda::atomic_thread_fence(cuda::memory_order_acq_rel, Scope);
  return sum + expected + ref.load();
}

__global__ void scopes(cuda::atomic<int, cuda::thread_scope_block>* b,
                       cuda::atomic<int, cuda::thread_scope_device>* d,
                       cuda::atomic<int, cuda::thread_scope_system>* s, long long* raw) {
  raw[0] = ordered(b, raw) + ordered(d, raw + 1) + ordered(s, raw + 2);
  cuda::atomic_ref<float, cuda::thread_scope_device> f(*reinterpret_cast<float*>(raw + 4));
  f.fetch_add(1.5f);
  cuda::atomic_ref<unsigned char, cuda::thread_scope_device> c(
      *reinterpret_cast<unsigned char*>(raw + 5));
  c.fetch_or(7);
}
