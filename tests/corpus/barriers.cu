// SPDX-License-Identifier: Apache-2.0
//
// cuda::barrier, cuda::pipeline, cuda::latch and semaphores, and hardware named barriers.
#include <cooperative_groups.h>
#include <cuda/barrier>
#include <cuda/latch>
#include <cuda/pipeline>
#include <cuda/semaphore>

namespace cg = cooperative_groups;

__global__ void split_phases(int* data) {
  __shared__ cuda::barrier<cuda::thread_scope_block> barrier;
  if (threadIdx.x == 0) init(&barrier, blockDim.x);
  __syncthreads();
  auto token = barrier.arrive();
  data[threadIdx.x] += 1;
  barrier.wait(std::move(token));
  data[threadIdx.x] += data[(threadIdx.x + 1) % blockDim.x];
  barrier.arrive_and_drop();
}

__global__ void pipelined(const int4* in, int4* out, int tiles) {
  constexpr int kStages = 2;
  __shared__ int4 stage[kStages][128];
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, kStages> state;
  const auto block = cg::this_thread_block();
  auto pipe = cuda::make_pipeline(block, &state);
  for (int fetch = 0, tile = 0; tile < tiles; ++tile) {
    for (; fetch < tiles && fetch < tile + kStages; ++fetch) {
      pipe.producer_acquire();
      cuda::memcpy_async(block, stage[fetch % kStages], in + fetch * 128, sizeof(int4) * 128, pipe);
      pipe.producer_commit();
    }
    pipe.consumer_wait();
    out[tile * 128 + block.thread_rank()] = stage[tile % kStages][block.thread_rank()];
    pipe.consumer_release();
  }
}

__global__ void gates(cuda::latch<cuda::thread_scope_device>* latch,
                      cuda::counting_semaphore<cuda::thread_scope_device, 8>* semaphore, int* out) {
  semaphore->acquire();
  out[threadIdx.x] += 1;
  semaphore->release();
  latch->arrive_and_wait();
}

__global__ void named_barriers(int* data) {
  asm volatile("bar.arrive 1, 64;" ::: "memory");
  asm volatile("barrier.cta.sync 2, 64;" ::: "memory");
  const int any = __syncthreads_or(data[threadIdx.x] > 0);
  const int all = __syncthreads_and(data[threadIdx.x] > 0);
  data[threadIdx.x] = any + all + __syncthreads_count(data[threadIdx.x] > 3);
  __threadfence_block();
  __threadfence();
  __threadfence_system();
}
