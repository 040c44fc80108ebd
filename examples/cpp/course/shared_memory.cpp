// SPDX-License-Identifier: Apache-2.0
//
// The program of docs/guide/cpp_shared_memory.md, which shows what it prints.
#include <cstddef>
#include <iostream>
#include <numeric>
#include <vector>

#include "../block_sum.h"
#include "pyptx/diag/render.h"

namespace {

using namespace pyptx;
using namespace pyptx::types;

// Each thread gives its value to the thread on the other side of the block.
auto reversal(bool is_waiting) {
  const auto body = [is_waiting](const Tensor& X, const Tensor& Y) {
    const auto [px, py] = ptx::global_ptrs(X, Y);
    const Reg tid = ptx::special::tid.x();
    const Reg x = reg::scalar(f32);
    ptx::inst::ld.global.f32(x, ptx::addr(px + tid * 4));
    const Shared line = smem::alloc(f32, {128}, {.name = "line"});
    line.store({tid}, x);
    if (is_waiting) ptx::bar::sync();
    const Reg other = line.load({127 - tid});
    ptx::inst::st.global.f32(ptx::addr(py + tid * 4), other);
  };
  return kernel("reversal", {Input("X", {128}, f32), Output("Y", {128}, f32)}, {.block = {128}},
                body);
}

}  // namespace

int main() {
  std::vector<float> x(128), y(128);
  std::iota(x.begin(), x.end(), 0.0F);
  reversal(true)(x, out(y)).or_throw();
  std::cout << "reversed: " << y[0] << ' ' << y[1] << " to " << y[127] << '\n';

  const auto raced = reversal(false)(x, out(y));
  std::cout << diag::render(raced.error(), nullptr);

  std::vector<float> sum(1);
  for (const std::size_t n : {10U, 128U}) {
    x.resize(n, 1.0F);
    examples::block_sum(x, out(sum)).or_throw();
    std::cout << "the sum of " << n << ": " << sum[0] << '\n';
  }
  return 0;
}
