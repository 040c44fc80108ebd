// SPDX-License-Identifier: Apache-2.0
//
// Thread block clusters and distributed shared memory: mapa, remote stores and atomics.
#include <cstdint>
#include <cuda/ptx>

#if __CUDA_ARCH__ >= 900 || !defined(__CUDA_ARCH__)
__global__ void __cluster_dims__(2, 2, 1) exchange(int* out) {
  __shared__ int mine[128];
  __shared__ __align__(8) std::uint64_t barrier;
  unsigned rank, ranks, x, limit;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(ranks));
  asm("mov.u32 %0, %%cluster_ctaid.x;" : "=r"(x));
  asm("mov.u32 %0, %%nclusterid.x;" : "=r"(limit));
  mine[threadIdx.x] = rank;
  if (threadIdx.x == 0) cuda::ptx::mbarrier_init(&barrier, 128);
  asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::
                   : "memory");
  const auto local = static_cast<unsigned>(__cvta_generic_to_shared(&mine[threadIdx.x]));
  const auto local_barrier = static_cast<unsigned>(__cvta_generic_to_shared(&barrier));
  unsigned remote, remote_barrier;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(remote) : "r"(local), "r"((rank + 1) % ranks));
  asm("mapa.shared::cluster.u32 %0, %1, %2;"
      : "=r"(remote_barrier)
      : "r"(local_barrier), "r"((rank + 1) % ranks));
  int value;
  asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(value) : "r"(remote) : "memory");
  asm volatile("red.shared::cluster.add.u32 [%0], %1;" ::"r"(remote), "r"(value) : "memory");
  asm volatile(
      "st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%0], %1, [%2];" ::"r"(remote),
      "r"(value), "r"(remote_barrier)
      : "memory");
  asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(remote_barrier)
               : "memory");
  asm volatile("barrier.cluster.arrive.relaxed;\nbarrier.cluster.wait;" ::: "memory");
  out[blockIdx.x * 128 + threadIdx.x] = mine[threadIdx.x] + x + limit;
}
#else
__global__ void no_clusters() {}
#endif
