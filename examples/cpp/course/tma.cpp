// SPDX-License-Identifier: Apache-2.0
//
// The program of docs/guide/cpp_tma.md, which shows what it prints.
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <numeric>
#include <vector>

#include "pyptx/diag/render.h"
#include "pyptx/kernel.h"

namespace {

using namespace pyptx;
using namespace pyptx::types;

constexpr std::int64_t kTile = 32;
constexpr std::int64_t kTileBytes = kTile * kTile * 4;

enum class Mistake { None, NoWait, FewBytes, NoFence };

// Y = X^T by tiles of 32 x 32: TMA brings a tile and takes one away, and cuts off what lies
// outside.
auto transposition(Mistake mistake) {
  const auto matrix = [](const char* rows, const char* columns) {
    return Tile{.dims = {rows, columns},
                .dtype = "f32",
                .layout = TileLayout::Interleaved,
                .box = {kTile, kTile}};
  };
  const auto body = [mistake](const Tensor& X, const Tensor& Y) {
    const Reg map_x = X.tma_desc();
    const Reg map_y = Y.tma_desc();
    const Reg tid = ptx::special::tid.x();
    const Reg row0 = reg::from(ptx::special::ctaid.y(), u32) * kTile;
    const Reg col0 = reg::from(ptx::special::ctaid.x(), u32) * kTile;
    const Shared from = smem::alloc(f32, {kTile, kTile}, {.name = "from"});
    const Shared to = smem::alloc(f32, {kTile, kTile}, {.name = "to"});
    const Mbarriers full = smem::mbarrier(1, "full");

    ptx::if_(tid == 0, [&] {
      ptx::mbarrier::init(full[0], 1);
      const std::int64_t bytes = mistake == Mistake::FewBytes ? kTileBytes / 2 : kTileBytes;
      ptx::mbarrier::arrive_expect_tx(full[0], bytes);
      ptx::tma::load(from, map_x, {col0, row0}, full[0]);
    });
    ptx::bar::sync();
    if (mistake != Mistake::NoWait) ptx::mbarrier::wait(full[0], 0);

    const Reg warp = tid >> 5;
    const Reg lane = tid & 31;
    for (std::int64_t step = 0; step < kTile; step += 4) {
      const Reg row = warp + step;
      to.store({lane, row}, from.load({row, lane}));
    }
    if (mistake != Mistake::NoFence) ptx::fence::proxy_async_shared_cta();
    ptx::bar::sync();
    ptx::if_(tid == 0, [&] {
      ptx::tma::store(map_y, {row0, col0}, to);
      ptx::tma::commit_group();
      ptx::tma::wait_group(0);
    });
  };
  return kernel("transposition", {Input("X", matrix("M", "N")), Output("Y", matrix("N", "M"))},
                {.grid = {ceil_div(dim("N"), kTile), ceil_div(dim("M"), kTile)}, .block = {128}},
                body);
}

}  // namespace

int main() {
  constexpr std::size_t kRows = 40, kColumns = 100;
  std::vector<float> x(kRows * kColumns), y(x.size());
  std::iota(x.begin(), x.end(), 0.0F);
  const auto transpose = [&](Mistake mistake) {
    return transposition(mistake)(host(x, {kRows, kColumns}), out(host(y, {kColumns, kRows})));
  };
  transpose(Mistake::None).or_throw();
  bool is_right = true;
  for (std::size_t i = 0; i < kRows; ++i) {
    for (std::size_t j = 0; j < kColumns; ++j) {
      is_right = is_right && y[j * kRows + i] == x[i * kColumns + j];
    }
  }
  std::cout << (is_right ? "transposed\n" : "wrong\n");
  for (const Mistake mistake : {Mistake::NoWait, Mistake::FewBytes, Mistake::NoFence}) {
    std::cout << diag::render(transpose(mistake).error(), nullptr);
  }
  return 0;
}
