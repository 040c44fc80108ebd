// SPDX-License-Identifier: Apache-2.0
//
// Warp shuffles, votes, matches, reductions, and lane masks.
__global__ void shuffles(int* i, float* f, double* d, unsigned long long* l) {
  const unsigned all = 0xFFFFFFFFu;
  const int lane = threadIdx.x % 32;
  i[lane] = __shfl_sync(all, i[lane], 3) + __shfl_up_sync(all, i[lane], 1, 16);
  f[lane] = __shfl_down_sync(all, f[lane], 2) + __shfl_xor_sync(all, f[lane], 5, 8);
  d[lane] = __shfl_xor_sync(all, d[lane], 16);
  l[lane] = __shfl_sync(all, l[lane], lane ^ 1);
}

__global__ void votes(const int* in, unsigned* out) {
  const int value = in[threadIdx.x];
  unsigned active = __activemask();
  if (__any_sync(active, value > 1)) out[0] = __ballot_sync(active, value > 2);
  if (__all_sync(active, value < 5)) out[1] = __popc(active);
  int same = 0;
  out[2] = __match_any_sync(active, value);
  out[3] = __match_all_sync(active, static_cast<unsigned long long>(value), &same) + same;
  unsigned equal, less, greater;
  asm("mov.u32 %0, %%lanemask_eq;" : "=r"(equal));
  asm("mov.u32 %0, %%lanemask_lt;" : "=r"(less));
  asm("mov.u32 %0, %%lanemask_ge;" : "=r"(greater));
  out[4] = equal ^ less ^ greater;
  __syncwarp(active);
  __nanosleep(100);
#if __CUDA_ARCH__ >= 800
  out[5] = __reduce_add_sync(active, value) + __reduce_min_sync(active, out[0]) +
           __reduce_xor_sync(active, out[1]) + __reduce_max_sync(active, value);
#endif
#if __CUDA_ARCH__ >= 900
  unsigned leader;
  asm volatile("{\n.reg .pred p;\nelect.sync _|p, 0xffffffff;\nselp.u32 %0, 1, 0, p;\n}"
               : "=r"(leader));
  out[6] = leader;
#endif
}

__global__ void identities(unsigned* out, long long* clocks) {
  unsigned sm, warps, smid, dynamic;
  asm volatile("mov.u32 %0, %%nsmid;" : "=r"(sm));
  asm volatile("mov.u32 %0, %%nwarpid;" : "=r"(warps));
  asm volatile("mov.u32 %0, %%smid;" : "=r"(smid));
  asm volatile("mov.u32 %0, %%dynamic_smem_size;" : "=r"(dynamic));
  out[threadIdx.x] = sm + warps + smid + dynamic + gridDim.y * blockDim.z;
  clocks[threadIdx.x] = clock64() + clock();
}
