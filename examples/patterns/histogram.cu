// SPDX-License-Identifier: Apache-2.0
//
// The same as histogram.py.
#include <cooperative_groups.h>

namespace cg = cooperative_groups;

__global__ void __cluster_dims__(4, 1, 1)
    histogram(const unsigned char* __restrict__ x, unsigned* __restrict__ y, unsigned columns) {
  __shared__ unsigned bins[256];
  const cg::cluster_group cluster = cg::this_cluster();
  const unsigned rank = cluster.block_rank();
  const unsigned char* row = x + size_t(blockIdx.y) * columns;
  bins[threadIdx.x] = 0;
  __syncthreads();
  for (unsigned n = rank * 256 + threadIdx.x; n < columns; n += 1024) {
    atomicAdd(&bins[row[n]], 1u);
  }
  cluster.sync();
  if (threadIdx.x < 64) {
    const unsigned bin = rank * 64 + threadIdx.x;
    unsigned total = 0;
    for (unsigned cta = 0; cta < 4; ++cta) {
      total += cluster.map_shared_rank(bins, cta)[bin];
    }
    y[size_t(blockIdx.y) * 256 + bin] = total;
  }
  cluster.sync();
}
