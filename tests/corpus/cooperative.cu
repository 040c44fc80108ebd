// SPDX-License-Identifier: Apache-2.0
//
// Cooperative groups: tiles, coalesced and labeled groups, reductions, grid and cluster sync.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>

namespace cg = cooperative_groups;

__global__ void tiles(const int* in, int* out) {
  const auto block = cg::this_thread_block();
  const auto warp = cg::tiled_partition<32>(block);
  const auto quad = cg::tiled_partition<4>(warp);
  int value = in[block.thread_rank()];
  value += cg::reduce(warp, value, cg::plus<int>());
  value ^= cg::reduce(quad, value, cg::bit_xor<int>());
  value = cg::exclusive_scan(warp, value, cg::less<int>());
  if (warp.any(value > 3)) value = warp.shfl_down(value, 1);
  if (value > 7) {
    const auto active = cg::coalesced_threads();
    value += active.shfl(value, 0) + static_cast<int>(active.num_threads());
    const auto same = cg::labeled_partition(active, value & 3);
    value += same.meta_group_rank();
  }
  out[block.thread_rank()] = value;
}

__global__ void grid_phases(float* data, int count) {
  const auto grid = cg::this_grid();
  for (int phase = 0; phase < 3; ++phase) {
    for (unsigned long long i = grid.thread_rank(); i < count; i += grid.size()) data[i] += phase;
    grid.sync();
  }
}

__global__ void staged_copy(const float4* in, float4* out) {
  extern __shared__ float4 tile[];
  const auto block = cg::this_thread_block();
  cg::memcpy_async(block, tile, in + blockIdx.x * 256, sizeof(float4) * 256);
  cg::wait(block);
  out[blockIdx.x * 256 + block.thread_rank()] = tile[255 - block.thread_rank()];
}

#if __CUDA_ARCH__ >= 900 || !defined(__CUDA_ARCH__)
__global__ void __cluster_dims__(4, 1, 1) cluster_ranks(int* out) {
  __shared__ int mine;
  const auto cluster = cg::this_cluster();
  mine = cluster.block_rank();
  cluster.sync();
  const int* other = cluster.map_shared_rank(&mine, (cluster.block_rank() + 1) % 4);
  const int value = *other;
  cluster.sync();
  out[cluster.thread_rank()] = value;
}
#endif
