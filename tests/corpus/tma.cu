// SPDX-License-Identifier: Apache-2.0
//
// Bulk and tensor copies through cuda::ptx and inline assembly, with reductions and prefetch.
#include <cuda.h>
#include <cuda/ptx>

namespace ptx = cuda::ptx;

#if __CUDA_ARCH__ >= 900 || !defined(__CUDA_ARCH__)
__global__ void tensor_tile(const __grid_constant__ CUtensorMap map, float* out) {
  __shared__ __align__(128) float tile[32][32];
  __shared__ __align__(8) std::uint64_t barrier;
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(&barrier, 1);
    ptx::fence_proxy_async(ptx::space_shared);
    const std::int32_t place[2] = {0, static_cast<std::int32_t>(blockIdx.x)};
    ptx::cp_async_bulk_tensor(ptx::space_cluster, ptx::space_global, tile, &map, place, &barrier);
    ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &barrier,
                                   sizeof(tile));
  }
  __syncthreads();
  while (!ptx::mbarrier_try_wait_parity(&barrier, 0)) {
  }
  out[threadIdx.x] = tile[threadIdx.x / 32][threadIdx.x % 32];
  tile[0][threadIdx.x % 32] *= 2.0f;
  ptx::fence_proxy_async(ptx::space_shared);
  __syncthreads();
  if (threadIdx.x == 0) {
    const std::int32_t place[2] = {32, static_cast<std::int32_t>(blockIdx.x)};
    ptx::cp_async_bulk_tensor(ptx::space_global, ptx::space_shared, &map, place, tile);
    ptx::cp_reduce_async_bulk_tensor(ptx::space_global, ptx::space_shared, ptx::op_add, &map, place,
                                     tile);
    ptx::cp_async_bulk_commit_group();
    ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
  }
}

__global__ void bulk_rows(float* out, const float* in, int bytes) {
  extern __shared__ __align__(128) float row[];
  __shared__ __align__(8) std::uint64_t barrier;
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(&barrier, blockDim.x);
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, row, in, bytes, &barrier);
    asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(in + 4096), "r"(bytes));
  }
  __syncthreads();
  const std::uint64_t token = ptx::mbarrier_arrive_expect_tx(
      ptx::sem_release, ptx::scope_cta, ptx::space_shared, &barrier, threadIdx.x == 0 ? bytes : 0);
  while (!ptx::mbarrier_try_wait(&barrier, token)) {
  }
  row[threadIdx.x] += 1.0f;
  ptx::fence_proxy_async(ptx::space_shared);
  __syncthreads();
  if (threadIdx.x == 0) {
    ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, out, row, bytes);
    ptx::cp_reduce_async_bulk(ptx::space_global, ptx::space_shared, ptx::op_add,
                              reinterpret_cast<int*>(out), reinterpret_cast<const int*>(row),
                              bytes);
    ptx::cp_async_bulk_commit_group();
    ptx::cp_async_bulk_wait_group(ptx::n32_t<0>());
  }
}
#else
__global__ void no_bulk_copies() {}
#endif
