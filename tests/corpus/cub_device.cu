// SPDX-License-Identifier: Apache-2.0
//
// Device-wide CUB: radix sort of pairs, select, segmented reduce.
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_segmented_reduce.cuh>
#include <cub/device/device_select.cuh>

struct IsEven {
  __device__ bool operator()(int x) const { return x % 2 == 0; }
};

cudaError_t sort_pairs(void* temporary, std::size_t& bytes, const unsigned long long* keys,
                       unsigned long long* sorted, const int* values, int* out, int count) {
  return cub::DeviceRadixSort::SortPairsDescending(temporary, bytes, keys, sorted, values, out,
                                                   count);
}

cudaError_t select_even(void* temporary, std::size_t& bytes, const int* in, int* out, int* chosen,
                        int count) {
  return cub::DeviceSelect::If(temporary, bytes, in, out, chosen, count, IsEven{});
}

cudaError_t segment_minima(void* temporary, std::size_t& bytes, const float* in, float* out,
                           int segments, const int* begins, const int* ends) {
  return cub::DeviceSegmentedReduce::Min(temporary, bytes, in, out, segments, begins, ends);
}
