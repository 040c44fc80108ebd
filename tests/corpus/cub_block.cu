// SPDX-License-Identifier: Apache-2.0
//
// Block- and warp-wide CUB: reduce, scan, radix sort, exchange, run length, histogram.
#include <cub/cub.cuh>
#include <cuda/functional>

template <int Threads, int Items>
__global__ void sort_tile(unsigned* keys, float* values) {
  using Load = cub::BlockLoad<unsigned, Threads, Items, cub::BLOCK_LOAD_TRANSPOSE>;
  using LoadValues = cub::BlockLoad<float, Threads, Items, cub::BLOCK_LOAD_VECTORIZE>;
  using Sort = cub::BlockRadixSort<unsigned, Threads, Items, float>;
  using Store = cub::BlockStore<unsigned, Threads, Items, cub::BLOCK_STORE_WARP_TRANSPOSE>;
  __shared__ union {
    typename Load::TempStorage load;
    typename LoadValues::TempStorage load_values;
    typename Sort::TempStorage sort;
    typename Store::TempStorage store;
  } temporary;
  const int base = blockIdx.x * Threads * Items;
  unsigned mine[Items];
  float payload[Items];
  Load(temporary.load).Load(keys + base, mine);
  __syncthreads();
  LoadValues(temporary.load_values).Load(values + base, payload);
  __syncthreads();
  Sort(temporary.sort).Sort(mine, payload);
  __syncthreads();
  Store(temporary.store).Store(keys + base, mine);
  for (int i = 0; i < Items; ++i) values[base + threadIdx.x * Items + i] = payload[i];
}
template __global__ void sort_tile<128, 4>(unsigned*, float*);

__global__ void scan_tile(const int* in, int* out, int* total) {
  using Scan = cub::BlockScan<int, 256, cub::BLOCK_SCAN_WARP_SCANS>;
  using Reduce = cub::BlockReduce<int, 256>;
  __shared__ typename Scan::TempStorage scan;
  __shared__ typename Reduce::TempStorage reduce;
  const int at = blockIdx.x * 256 + threadIdx.x;
  int prefix = 0;
  int aggregate = 0;
  Scan(scan).InclusiveSum(in[at], prefix, aggregate);
  out[at] = prefix;
  const int largest = Reduce(reduce).Reduce(in[at], cuda::maximum<>{});
  if (threadIdx.x == 0) total[blockIdx.x] = aggregate + largest;
}

__global__ void histogram(const unsigned char* samples, unsigned* bins, int count) {
  using Histogram = cub::BlockHistogram<unsigned char, 128, 4, 256, cub::BLOCK_HISTO_ATOMIC>;
  __shared__ typename Histogram::TempStorage temporary;
  __shared__ unsigned local[256];
  unsigned char mine[4];
  for (int i = 0; i < 4; ++i) {
    const int at = (blockIdx.x * 128 + threadIdx.x) * 4 + i;
    mine[i] = at < count ? samples[at] : 0;
  }
  Histogram(temporary).Histogram(mine, local);
  __syncthreads();
  for (int i = threadIdx.x; i < 256; i += 128) atomicAdd(bins + i, local[i]);
}

__global__ void warp_sums(const double* in, double* out) {
  using Reduce = cub::WarpReduce<double>;
  using Scan = cub::WarpScan<float>;
  __shared__ typename Reduce::TempStorage reduce[4];
  __shared__ typename Scan::TempStorage scan[4];
  const int warp = threadIdx.x / 32;
  double sum = Reduce(reduce[warp]).Sum(in[threadIdx.x]);
  float prefix = 0;
  Scan(scan[warp]).ExclusiveSum(static_cast<float>(in[threadIdx.x]), prefix);
  out[threadIdx.x] = sum + prefix;
}
