// SPDX-License-Identifier: Apache-2.0
//
// One warp, one 16 x 16 tile of C = A @ B^T: how ldmatrix and mma.sync fit together. The same
// kernel as examples/ampere/mma_tile.py, where it is explained, and the same text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "pyptx/kernel.h"

namespace examples {

using namespace pyptx;
using namespace pyptx::types;

inline constexpr std::int64_t kEdge = 16;  // of a tile, each way

/// A or B: where this lane's 16 bytes come from, the tile, and the fragment read from it.
class MmaOperand {
 public:
  MmaOperand(std::string_view name, const Reg& pointer, const Reg& first_row, std::int64_t columns,
             const Reg& lane)
      : base_(
            smem::alloc(bf16, {kEdge, kEdge}, {.swizzle = Swizzle::B32, .name = name}).address()) {
    const Reg row = lane >> 1;
    const Reg half = lane & 1;
    const Reg line = reg::scalar(u64);
    ptx::inst::mul.wide.u32(line, first_row + row, columns * 2);
    const Reg start = pointer + line;
    source_ = start + half * 16;
    target_ = place(row, half);
    fragment_ = reg::array(b32, 4);
  }

  /// Copies the next tile.
  void copy() const {
    const RegArray chunk = reg::array(b32, 4);
    ptx::inst::ld.global.v4.b32(chunk, ptx::addr(source_));
    ptx::inst::st.shared.v4.b32(ptx::addr(target_), chunk);
    source_ += kRowBytes;
  }
  /// Reads the fragment; lanes 8i to 8i + 7 name the rows of the i-th 8 x 8 matrix.
  void read(const Reg& row, const Reg& half) const { ptx::ldmatrix(fragment_, place(row, half)); }

  const RegArray& fragment() const { return fragment_; }

 private:
  static constexpr std::int64_t kRowBytes = kEdge * 2;

  /// The address of half a row of the tile.
  Reg place(const Reg& row, const Reg& half) const {
    const Reg line = row * kRowBytes;
    return base_ + smem::apply_swizzle(line + half * 16, Swizzle::B32);
  }

  Reg base_;
  Reg source_;
  Reg target_;
  RegArray fragment_;
};

inline void mma_tile_body(const Tensor& A, const Tensor& B, const Tensor& C) {
  const std::int64_t k = A.shape(1), n = C.shape(1);
  const auto [pa, pb, pc] = ptx::global_ptrs(A, B, C);
  const Reg lane = reg::from(ptx::special::tid.x(), u32);
  const Reg row0 = reg::from(ptx::special::ctaid.y(), u32) * kEdge;
  const Reg col0 = reg::from(ptx::special::ctaid.x(), u32) * kEdge;
  const MmaOperand a("tile_a", pa, row0, k, lane);
  const MmaOperand b("tile_b", pb, col0, k, lane);
  const RegArray sums[] = {reg::array(f32, 4), reg::array(f32, 4)};  // 16 x 8 of C each
  for (const RegArray& d : sums) {
    for (const Reg& value : d) ptx::inst::mov.f32(value, 0.0);
  }

  ptx::range(0, k / kEdge, [&](const Reg&) {
    a.copy();
    b.copy();
    ptx::inst::bar.warp.sync(-1);
    // A's matrices: rows 0-7 and 8-15 of the left half, then of the right one. B's: both halves
    // of rows 0-7, then of 8-15, so that two registers are a fragment of mma.
    const Reg row_of_a = lane & 15;
    a.read(row_of_a, lane >> 4);
    const Reg row = lane & 7;
    const Reg lower = (lane >> 4) << 3;
    const Reg row_of_b = row + lower;
    b.read(row_of_b, (lane >> 3) & 1);
    for (std::size_t i = 0; i < 2; ++i) {
      ptx::mma::sync({.shape = {16, 8, 16},
                      .type_d = f32,
                      .type_a = bf16,
                      .type_b = bf16,
                      .type_c = f32,
                      .d = sums[i],
                      .a = a.fragment(),
                      .b = b.fragment().slice(2 * i, 2),
                      .c = sums[i]});
    }
    ptx::inst::bar.warp.sync(-1);
  });

  // Lane l has columns 2 * (l % 4) and the next of rows l / 4 and 8 below.
  for (std::int64_t i = 0; i < 2; ++i) {
    for (std::int64_t half = 0; half < 2; ++half) {
      const Reg line = reg::scalar(u64);
      const Reg first = row0 + (lane >> 2);
      ptx::inst::mul.wide.u32(line, first + 8 * half, n * 4);
      const Reg start = pc + line;
      const Reg pair = col0 + (lane & 3) * 2;
      const Reg at = start + (pair + 8 * i) * 4;
      const RegArray& d = sums[i];
      ptx::inst::st.global.v2.f32(ptx::addr(at), {d[2 * half], d[2 * half + 1]});
    }
  }
  ptx::ret();
}

/// C = A @ B^T for M, N and K that are multiples of 16.
inline const auto mma_tile = kernel(
    "mma_tile",
    {Input("A", {"M", "K"}, bf16), Input("B", {"N", "K"}, bf16), Output("C", {"M", "N"}, f32)},
    {.grid = {dim("N") / kEdge, dim("M") / kEdge},
     .block = {32},
     .multiple_of = {{"M", kEdge}, {"N", kEdge}, {"K", kEdge}},
     .arch = "sm_80"},
    mma_tile_body);

}  // namespace examples
