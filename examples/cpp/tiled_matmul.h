// SPDX-License-Identifier: Apache-2.0
//
// C = A @ B in f32 by tiles in shared memory. The same kernel as examples/tiled_matmul.py, where it
// is explained, and the same text.
#pragma once

#include <cstdint>

#include "pyptx/kernel.h"

namespace examples {

using namespace pyptx;
using namespace pyptx::types;

/// A matrix of f32 in global memory.
struct Matrix {
  Reg pointer;
  std::int64_t rows;
  std::int64_t columns;

  Guard inside(const Reg& row, const Reg& column) const {
    const Reg in_rows = row < rows;
    return in_rows & (column < columns);
  }
  Address at(const Reg& row, const Reg& column) const {
    const Reg line = reg::scalar(u64);
    ptx::inst::mul.wide.u32(line, row, columns * 4);
    const Reg start = pointer + line;
    return ptx::addr(start + column * 4);
  }
  /// An element, or zero where there is none.
  Reg load(const Reg& row, const Reg& column) const {
    const Reg value = reg::scalar(f32, 0.0);
    const Guard guard = inside(row, column);
    ptx::inst::ld.global.f32.at(guard)(value, at(row, column));
    return value;
  }
  void store(const Reg& row, const Reg& column, const Reg& value) const {
    const Guard guard = inside(row, column);
    ptx::inst::st.global.f32.at(guard)(at(row, column), value);
  }
};

inline constexpr std::int64_t kTile = 32;
inline constexpr std::int64_t kWarps = 8;
inline constexpr std::int64_t kSteps = kTile / kWarps;  // rows of a tile that each warp has

inline void tiled_matmul_body(const Tensor& A, const Tensor& B, const Tensor& C) {
  const auto [pa, pb, pc] = ptx::global_ptrs(A, B, C);
  const std::int64_t m = A.shape(0), k = A.shape(1), n = B.shape(1);
  const Matrix a{pa, m, k}, b{pb, k, n}, c{pc, m, n};
  const Reg tid = reg::from(ptx::special::tid.x(), u32);
  const Reg warp = tid >> 5;
  const Reg lane = tid & 31;
  const Reg col0 = reg::from(ptx::special::ctaid.x(), u32) * kTile;
  const Reg column = col0 + lane;
  const Reg row0 = reg::from(ptx::special::ctaid.y(), u32) * kTile;
  const Shared tile_a = smem::alloc(f32, {kTile, kTile}, {.name = "tile_a"});
  const Shared tile_b = smem::alloc(f32, {kTile, kTile}, {.name = "tile_b"});
  const RegArray sums = reg::array(f32, kSteps);
  for (const Reg& total : sums) ptx::inst::mov.f32(total, 0.0);

  const auto multiply = [&](const Reg& k0) {
    for (std::int64_t step = 0; step < kSteps; ++step) {
      const Reg row = warp + step * kWarps;
      const Reg row_of_a = row0 + row;
      tile_a.store({row, lane}, a.load(row_of_a, k0 + lane));
      tile_b.store({row, lane}, b.load(k0 + row, column));
    }
    ptx::bar::sync(0);  // the tiles are there
    for (std::int64_t i = 0; i < kTile; ++i) {
      const Reg from_b = tile_b.load({i, lane});
      for (std::int64_t step = 0; step < kSteps; ++step) {
        const Reg from_a = tile_a.load({warp + step * kWarps, i});
        ptx::inst::fma.rn.f32(sums[step], from_a, from_b, sums[step]);
      }
    }
    ptx::bar::sync(0);  // and have been read
  };
  ptx::range(0, k, multiply, kTile);

  for (std::int64_t step = 0; step < kSteps; ++step) {
    const Reg first = row0 + warp;
    c.store(first + step * kWarps, column, sums[step]);
  }
  ptx::ret();
}

/// C = A @ B for any M, N and K.
inline const auto tiled_matmul =
    kernel("tiled_matmul",
           {Input("A", {"M", "K"}, f32), Input("B", {"K", "N"}, f32), Output("C", {"M", "N"}, f32)},
           {.grid = {ceil_div(dim("N"), kTile), ceil_div(dim("M"), kTile)},
            .block = {kTile * kWarps},
            .arch = "sm_80"},
           tiled_matmul_body);

}  // namespace examples
