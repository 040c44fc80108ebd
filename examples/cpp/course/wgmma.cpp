// SPDX-License-Identifier: Apache-2.0
//
// The program of docs/guide/cpp_wgmma.md, which shows what it prints.
#include <cstdint>
#include <iostream>
#include <vector>

#include "../check.h"
#include "../matrices.h"
#include "pyptx/diag/render.h"
#include "pyptx/kernel.h"

namespace {

using namespace pyptx;
using namespace pyptx::types;

constexpr std::int64_t kEdge = 64;
constexpr std::int64_t kTileBytes = kEdge * kEdge * 2;

enum class Mistake { None, NoFence, NoWait };

// C = A @ B^T for 64 x 64 matrices: one warpgroup, four products of 64 x 64 x 16.
auto product(Mistake mistake) {
  const Tile tile{.dims = {kEdge, kEdge},
                  .dtype = "bf16",
                  .layout = TileLayout::Swizzle128,
                  .box = {kEdge, kEdge}};
  const auto body = [mistake](const Tensor& A, const Tensor& B, const Tensor& C) {
    const Reg map_a = A.tma_desc();
    const Reg map_b = B.tma_desc();
    const auto [pc] = ptx::global_ptrs(C);
    const Reg tid = ptx::special::tid.x();
    const Shared a = smem::wgmma_tile(bf16, {kEdge, kEdge}, layout::Major::K, {.name = "a"});
    const Shared b = smem::wgmma_tile(bf16, {kEdge, kEdge}, layout::Major::K, {.name = "b"});
    const Mbarriers full = smem::mbarrier(1, "full");
    ptx::if_(tid == 0, [&] {
      ptx::mbarrier::init(full[0], 1);
      ptx::mbarrier::arrive_expect_tx(full[0], 2 * kTileBytes);
      ptx::tma::load(a, map_a, {0, 0}, full[0]);
      ptx::tma::load(b, map_b, {0, 0}, full[0]);
    });
    ptx::bar::sync();
    ptx::mbarrier::wait(full[0], 0);

    const RegArray acc = reg::wgmma_frag(kEdge, kEdge, f32);
    for (const Reg& value : acc) ptx::inst::mov.f32(value, 0.0);
    if (mistake != Mistake::NoFence) ptx::wgmma::fence();
    for (std::int64_t k = 0; k < kEdge; k += 16) {
      ptx::wgmma::mma_async({.shape = {kEdge, kEdge, 16},
                             .type_d = f32,
                             .type_a = bf16,
                             .type_b = bf16,
                             .d = acc,
                             .a = a,
                             .b = b,
                             .scale_d = true,
                             .k_offset_a = k,
                             .k_offset_b = k});
    }
    ptx::wgmma::commit_group();
    if (mistake != Mistake::NoWait) ptx::wgmma::wait_group(0);

    // Of every four registers two are neighbours in row lane / 4 of the warp's sixteen rows, and
    // two lie eight rows below.
    const Reg row = ((tid >> 5) << 4) + ((tid & 31) >> 2);
    const Reg column = (tid & 3) * 2;
    for (std::int64_t i = 0; i < kEdge / 2; i += 2) {
      const Reg at_row = row + 8 * (i / 2 % 2);
      const Reg at = at_row * kEdge + column + 8 * (i / 4);
      ptx::inst::st.global.v2.f32(ptx::addr(pc + at * 4), {acc[i], acc[i + 1]});
    }
  };
  return kernel("product", {Input("A", tile), Input("B", tile), Output("C", {kEdge, kEdge}, f32)},
                {.block = {128}}, body);
}

}  // namespace

int main() {
  const auto a = examples::random({kEdge, kEdge}, bf16);
  const auto b = examples::random({kEdge, kEdge}, bf16);
  const bool is_right = examples::multiply("product", product(Mistake::None), a, b, true);
  auto c = examples::empty({kEdge, kEdge}, f32);
  const examples::OnHost at;
  for (const Mistake mistake : {Mistake::NoFence, Mistake::NoWait}) {
    std::cout << diag::render(product(mistake)(at(a), at(b), out(at(c))).error(), nullptr);
  }
  return is_right ? 0 : 1;
}
