// SPDX-License-Identifier: Apache-2.0
//
// C = A @ B^T on Hopper in C++: TMA, mbarriers and wgmma. The same kernel as
// examples/hopper/gemm.py, where the design is explained, and the same text.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>

#include "pyptx/kernel.h"

namespace examples::gemm {

using namespace pyptx;
using namespace pyptx::types;

inline constexpr std::int64_t kRows = 128;  // of a tile of C
inline constexpr std::int64_t kColumns = 128;
inline constexpr std::int64_t kDepth = 64;
inline constexpr std::int64_t kStages = 4;
inline constexpr std::int64_t kConsumers = 2;
inline constexpr std::int64_t kStageBytes = (kRows + kColumns) * kDepth * 2;

struct Problem {
  std::int64_t m;
  std::int64_t n;
  std::int64_t k;
  std::int64_t depth_tiles() const { return (k + kDepth - 1) / kDepth; }
};

/// The ring of stages in shared memory, and the two sides that use it.
class TileRing {
 public:
  /// One thread initialises the barriers; afterwards everybody may use them.
  void init(const Reg& tid) const {
    ptx::if_(tid == 0, [&] {
      for (std::int64_t stage = 0; stage < kStages; ++stage) {
        ptx::mbarrier::init(full[stage], 1);
        ptx::mbarrier::init(empty[stage], 4 * kConsumers);  // one arrival per warp
      }
    });
    // Copies reach an mbarrier as threads do, by the generic proxy: no fence is needed.
    ptx::bar::sync(0);
  }

  /// Fills stages: `load(stage, column)` starts the copies of one stage.
  void produce(std::int64_t tiles,
               const std::function<void(const Reg& stage, const Reg& column)>& load) const {
    // Nothing has been filled yet: waiting for the phase before the first does not block.
    const ptx::Pipeline ring = ptx::pipeline(kStages, 0, 1);
    ptx::range(0, tiles, [&](const Reg& tile) {
      ptx::mbarrier::wait(empty[ring.stage()], ring.phase());
      ptx::mbarrier::arrive_expect_tx(full[ring.stage()], kStageBytes);
      load(ring.stage(), tile * kDepth);
      ring.advance();
    });
  }

  /// Multiplies the stages as they fill; the accumulator fragment of this warpgroup.
  RegArray consume(std::int64_t tiles, const Reg& consumer, const Reg& lane) const {
    const RegArray acc = reg::wgmma_frag(64, kColumns, f32);
    const ptx::Pipeline ring = ptx::pipeline(kStages);
    ptx::range(0, tiles, [&](const Reg& tile) {
      const Reg is_later = tile != 0;  // the first product overwrites the accumulator
      ptx::mbarrier::wait(full[ring.stage()], ring.phase());
      ptx::wgmma::fence();
      for (std::int64_t k = 0; k < kDepth; k += 16) {
        ptx::wgmma::MmaArguments product;
        product.shape = {64, kColumns, 16};
        product.type_d = f32;
        product.type_a = bf16;
        product.type_b = bf16;
        product.d = acc;
        product.a = a.at({ring.stage(), consumer});
        product.b = b[ring.stage()];
        product.scale_d = true;
        if (k == 0) product.scale_d = is_later;
        product.k_offset_a = k;
        product.k_offset_b = k;
        ptx::wgmma::mma_async(product);
      }
      ptx::wgmma::commit_group();
      ptx::wgmma::wait_group(0);
      const MbarrierRef free = empty[ring.stage()];
      ptx::mbarrier::arrive(free, 1, Guard{lane == 0});
      ring.advance();
    });
    return acc;
  }

  Shared a = smem::alloc(bf16, {kStages, kConsumers, 64, kDepth},
                         {.swizzle = Swizzle::B128, .name = "tile_a"});
  Shared b =
      smem::alloc(bf16, {kStages, kColumns, kDepth}, {.swizzle = Swizzle::B128, .name = "tile_b"});
  Mbarriers full = smem::mbarrier(kStages, "full");
  Mbarriers empty = smem::mbarrier(kStages, "empty");
};

/// Stores half a 64 x kColumns fragment: rows `half` * 8 below `row`; what lies outside C is left
/// alone.
inline void store_rows(const RegArray& acc, const Reg& pc, const Reg& row, const Reg& column,
                       std::int64_t half, const Problem& size) {
  const auto inside = [&](std::int64_t shift) {
    return size.n % kColumns == 0 ? Guard{} : Guard{column < size.n - shift};
  };
  const Reg at_row = row + 8 * half;
  ptx::if_(at_row < size.m, [&] {
    const Reg start = reg::scalar(u64);
    ptx::inst::mul.wide.u32(start, at_row, size.n * 4);
    Reg line = pc + start;
    line = line + column * 4;
    for (std::int64_t shift = 0; shift < std::min(kColumns, size.n); shift += 8) {
      const auto index = static_cast<std::size_t>(shift / 2 + 2 * half);
      const Reg first = acc[index];
      const Reg second = acc[index + 1];
      const Guard guard = inside(shift);
      if (size.n % 2 == 0) {  // the pair is aligned, and inside or outside together
        ptx::inst::st.global.v2.f32.at(guard)(ptx::addr(line, 4 * shift), {first, second});
        continue;
      }
      ptx::inst::st.global.f32.at(guard)(ptx::addr(line, 4 * shift), first);
      if (shift + 1 < size.n) {
        const Guard next = inside(shift + 1);
        ptx::inst::st.global.f32.at(next)(ptx::addr(line, 4 * shift + 4), second);
      }
    }
  });
}

/// C = A @ B^T for any M, N and K, a multiple of 8.
inline auto build(bool maps_by_value = true) {
  const auto tile = [](const char* rows, std::int64_t box) {
    return Tile{.dims = {rows, "K"},
                .dtype = "bf16",
                .layout = TileLayout::Swizzle128,
                .box = {box, kDepth}};
  };
  const auto body = [](const Tensor& A, const Tensor& B, const Tensor& C) {
    const Problem size{A.shape(0), B.shape(0), A.shape(1)};
    const Reg map_a = A.tma_desc();
    const Reg map_b = B.tma_desc();
    const auto [pc] = ptx::global_ptrs(C);
    const Reg tid = reg::from(ptx::special::tid.x(), u32);
    const Reg row0 = reg::from(ptx::special::ctaid.y(), u32) * kRows;
    const Reg col0 = reg::from(ptx::special::ctaid.x(), u32) * kColumns;
    const TileRing ring;
    ring.init(tid);

    const auto produce = [&] {
      ptx::if_(tid == 0, [&] {
        ring.produce(size.depth_tiles(), [&](const Reg& stage, const Reg& column) {
          const MbarrierRef bar = ring.full[stage];
          ptx::tma::load(ring.a[stage], map_a, {column, row0}, bar);
          ptx::tma::load(ring.b[stage], map_b, {column, col0}, bar);
        });
      });
    };
    const auto consume = [&] {
      const Reg consumer = (tid >> 7) - 1;
      const Reg lane = tid & 31;
      const RegArray acc = ring.consume(size.depth_tiles(), consumer, lane);
      Reg row = row0 + consumer * 64;
      row = row + ((tid >> 5) & 3) * 16;
      row = row + (lane >> 2);
      const Reg column = col0 + (lane & 3) * 2;
      for (std::int64_t half = 0; half < 2; ++half) {
        store_rows(acc, pc, row, column, half, size);
      }
    };
    ptx::if_(tid < 128, produce, consume);
    ptx::ret();
  };
  return kernel(
      "gemm",
      {Input("A", tile("M", kRows)), Input("B", tile("N", kColumns)), Output("C", {"M", "N"}, f32)},
      {.grid = {ceil_div(dim("N"), kColumns), ceil_div(dim("M"), kRows)},
       .block = {128 * (1 + kConsumers)},
       .maps_by_value = maps_by_value},
      body);
}

}  // namespace examples::gemm
