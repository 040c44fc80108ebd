// SPDX-License-Identifier: Apache-2.0
//
// The same as attention.py, for D = 128 and causal.
#include <cuda.h>
#include <cuda_bf16.h>

#include <cuda/ptx>

namespace ptx = cuda::ptx;

constexpr int kQueries = 64;  // of a warpgroup
constexpr int kConsumers = 2;
constexpr int kRows = kQueries * kConsumers;
constexpr int kKeys = kRows;
constexpr int kDepth = 128;
constexpr int kSpan = 64;
constexpr int kStages = 4;
constexpr float kScale = 1.44269504f * 0.08838834764f;  // log2(e) / sqrt(128)

using bf16 = __nv_bfloat16;
using Fragment = float[64];

struct Tiles {
  alignas(1024) bf16 q[kConsumers][kQueries * kDepth];
  alignas(1024) bf16 ring[kStages][kKeys * kDepth];
  std::uint64_t q_full;
  std::uint64_t full[kStages];
  std::uint64_t empty[kStages];
};

struct Cursor {
  int stage = 0;
  unsigned phase = 0;

  __device__ void step() {
    stage = (stage + 1) % kStages;
    phase ^= stage == 0;
  }
};

#define EIGHT(d, i)                                                                           \
  "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), \
      "+f"(d[i + 6]), "+f"(d[i + 7])
#define ALL(d)                                                                                    \
  EIGHT(d, 0), EIGHT(d, 8), EIGHT(d, 16), EIGHT(d, 24), EIGHT(d, 32), EIGHT(d, 40), EIGHT(d, 48), \
      EIGHT(d, 56)
#define NAMES                                                                        \
  "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "          \
  "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, " \
  "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, " \
  "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, "

__device__ std::uint64_t descriptor(const bf16* tile, unsigned leading) {
  const std::uint64_t at = __cvta_generic_to_shared(tile);
  return (at & 0x3FFFF) >> 4 | std::uint64_t(leading / 16) << 16 | 64ull << 32 | 1ull << 62;
}

__device__ void wgmma(Fragment& d, std::uint64_t a, std::uint64_t b, bool adds) {
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.b32 p, %66, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 " NAMES "%64, %65, p, 1, 1, 0, 0;\n}\n"
      : ALL(d)
      : "l"(a), "l"(b), "r"(int(adds)));
}

__device__ void wgmma(Fragment& d, const unsigned (&a)[4], std::uint64_t b) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 " NAMES
               "{%64, %65, %66, %67}, %68, 1, 1, 1, 1;\n"
               : ALL(d)
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
}

__device__ void wait(std::uint64_t* bar, unsigned phase) {
  while (!ptx::mbarrier_try_wait_parity(bar, phase)) {
  }
}

__device__ void expect(std::uint64_t* bar, unsigned bytes) {
  ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, bar, bytes);
}

__device__ void load(bf16* tile, int rows, const CUtensorMap* map, int row, int head,
                     std::uint64_t* bar) {
  for (int column = 0; column < kDepth; column += kSpan) {
    const int place[3] = {column, row, head};
    ptx::cp_async_bulk_tensor(ptx::space_cluster, ptx::space_global, tile + column * rows, map,
                              place, bar);
  }
}

__device__ void produce(Tiles& tiles, const CUtensorMap* map_q, const CUtensorMap* map_k,
                        const CUtensorMap* map_v, int row0, int head, int count) {
  expect(&tiles.q_full, sizeof(tiles.q));
  for (int consumer = 0; consumer < kConsumers; ++consumer) {
    load(tiles.q[consumer], kQueries, map_q, row0 + consumer * kQueries, head, &tiles.q_full);
  }
  Cursor ring;
  for (int tile = 0; tile < count; ++tile) {
    for (const CUtensorMap* map : {map_k, map_v}) {
      wait(&tiles.empty[ring.stage], ring.phase ^ 1);
      expect(&tiles.full[ring.stage], sizeof(tiles.ring[0]));
      load(tiles.ring[ring.stage], kKeys, map, tile * kKeys, head, &tiles.full[ring.stage]);
      ring.step();
    }
  }
}

template <typename Multiply>
__device__ void use(Tiles& tiles, Cursor& ring, Multiply multiply) {
  wait(&tiles.full[ring.stage], ring.phase);
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
  multiply(tiles.ring[ring.stage]);
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
  asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
  if (threadIdx.x % 32 == 0) {
    ptx::mbarrier_arrive(&tiles.empty[ring.stage]);
  }
  ring.step();
}

__device__ void pack(unsigned (&packed)[4], const Fragment& fragment, int step) {
  for (int i = 0; i < 4; ++i) {
    const __nv_bfloat162 pair =
        __floats2bfloat162_rn(fragment[8 * step + 2 * i], fragment[8 * step + 2 * i + 1]);
    packed[i] = reinterpret_cast<const unsigned&>(pair);
  }
}

__device__ void mask(Fragment& scores, int row, int key0) {
  const int column = key0 + threadIdx.x % 4 * 2;
  for (int i = 0; i < 64; ++i) {
    const int key = column + i / 4 * 8 + i % 2;
    if (key > row + i / 2 % 2 * 8) {
      scores[i] = -INFINITY;
    }
  }
}

__device__ void powers(Fragment& scores, Fragment& out, float (&largest)[2], float (&sums)[2]) {
  for (int half = 0; half < 2; ++half) {
    const float before = largest[half];
    for (int i = 2 * half; i < 64; i += 4) {
      largest[half] = fmaxf(largest[half], fmaxf(scores[i], scores[i + 1]));
    }
    for (int distance = 1; distance < 4; distance *= 2) {
      largest[half] = fmaxf(largest[half], __shfl_xor_sync(~0u, largest[half], distance));
    }
    const float shift = -kScale * largest[half];
    const float shrink = exp2f(fmaf(before, kScale, shift));
    sums[half] *= shrink;
    for (int i = 0; i < 64; ++i) {
      if (i / 2 % 2 == half) {
        out[i] *= shrink;
        scores[i] = exp2f(fmaf(scores[i], kScale, shift));
        sums[half] += scores[i];
      }
    }
  }
}

__device__ void divide(Fragment& out, float (&sums)[2]) {
  for (int half = 0; half < 2; ++half) {
    for (int distance = 1; distance < 4; distance *= 2) {
      sums[half] += __shfl_xor_sync(~0u, sums[half], distance);
    }
  }
  for (int i = 0; i < 64; ++i) {
    out[i] /= sums[i / 2 % 2];
  }
}

__device__ void store(bf16* tile, const Fragment& out, const CUtensorMap* map, int row, int head) {
  const int consumer = threadIdx.x / 128 - 1;
  const int lane = threadIdx.x % 32;
  const int line = (threadIdx.x % 128 / 32 * 16 + lane % 16) * kSpan * 2 + lane / 16 * 16;
  asm volatile("bar.sync %0, 128;" ::"r"(consumer + 1) : "memory");
  const unsigned own = __cvta_generic_to_shared(tile);
  for (int step = 0; step < kDepth / 16; ++step) {
    unsigned packed[4];
    pack(packed, out, step);
    const int offset = line + step % 4 * 32;
    const unsigned place = own + (offset ^ offset >> 3 & 0x70) + step / 4 * kQueries * kSpan * 2;
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(place),
                 "r"(packed[0]), "r"(packed[1]), "r"(packed[2]), "r"(packed[3])
                 : "memory");
  }
  ptx::fence_proxy_async(ptx::space_shared);
  asm volatile("bar.sync %0, 128;" ::"r"(consumer + 1) : "memory");
  if (threadIdx.x % 128 == 0) {
    for (int column = 0; column < kDepth; column += kSpan) {
      const int place[3] = {column, row, head};
      ptx::cp_async_bulk_tensor(ptx::space_global, ptx::space_shared, map, place,
                                tile + column * kQueries);
    }
    ptx::cp_async_bulk_commit_group();
    ptx::cp_async_bulk_wait_group(ptx::n32_t<0>());
  }
}

__global__ void __launch_bounds__(128 * (1 + kConsumers))
    attention(const __grid_constant__ CUtensorMap map_q, const __grid_constant__ CUtensorMap map_k,
              const __grid_constant__ CUtensorMap map_v,
              const __grid_constant__ CUtensorMap map_o) {
  extern __shared__ __align__(1024) unsigned char memory[];
  Tiles& tiles = *reinterpret_cast<Tiles*>(memory);
  const int head = blockIdx.y;
  const int block = gridDim.x - 1 - blockIdx.x;
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(&tiles.q_full, 1);
    for (int stage = 0; stage < kStages; ++stage) {
      ptx::mbarrier_init(&tiles.full[stage], 1);
      ptx::mbarrier_init(&tiles.empty[stage], 4 * kConsumers);
    }
  }
  __syncthreads();
  if (threadIdx.x < 128) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 24;");
    if (threadIdx.x == 0) {
      produce(tiles, &map_q, &map_k, &map_v, block * kRows, head, block + 1);
    }
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 240;");
    const int consumer = threadIdx.x / 128 - 1;
    const int first = block * kRows + consumer * kQueries;
    const int row = first + threadIdx.x % 128 / 32 * 16 + threadIdx.x % 32 / 4;
    Fragment scores, out = {};
    float largest[2] = {-INFINITY, -INFINITY};
    float sums[2] = {};
    wait(&tiles.q_full, 0);
    Cursor ring;
    for (int tile = 0; tile <= block; ++tile) {
      use(tiles, ring, [&](const bf16* k) {
        for (int column = 0; column < kDepth; column += 16) {
          const int span = column / kSpan * kSpan;
          wgmma(scores, descriptor(tiles.q[consumer] + span * kQueries + column % kSpan, 16),
                descriptor(k + span * kKeys + column % kSpan, 16), column > 0);
        }
      });
      if (tile * kKeys + kKeys > first) {
        mask(scores, row, tile * kKeys);
      }
      powers(scores, out, largest, sums);
      unsigned packed[kKeys / 16][4];
      for (int step = 0; step < kKeys / 16; ++step) {
        pack(packed[step], scores, step);
      }
      use(tiles, ring, [&](const bf16* v) {
        for (int step = 0; step < kKeys / 16; ++step) {
          wgmma(out, packed[step], descriptor(v + step * 16 * kSpan, kKeys * kSpan * 2));
        }
      });
    }
    divide(out, sums);
    store(tiles.q[consumer], out, &map_o, first, head);
  }
}
