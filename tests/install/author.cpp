// SPDX-License-Identifier: Apache-2.0
//
// The text of a kernel, with the part of the package that writes kernels alone: nothing that runs
// them is linked.
#include <iostream>

#include "pyptx/author.h"
#include "pyptx/diag/render.h"

int main() {
  using namespace pyptx;
  using namespace pyptx::types;
  const auto body = [](const Tensor& X, const Tensor& Y) {
    const auto [px, py] = ptx::global_ptrs(X, Y);
    const Reg offset = ptx::special::tid.x() * 4;
    const Reg x = reg::scalar(f32);
    ptx::inst::ld.global.f32(x, ptx::addr(px + offset));
    ptx::inst::rsqrt.approx.f32(x, x);
    ptx::inst::st.global.f32(ptx::addr(py + offset), x);
    ptx::ret();
  };
  const auto text = Kernel("inverse_root", {"X", "Y"}, {}, body).ptx();
  if (!text) {
    std::cerr << diag::render(text.error(), nullptr);
    return 1;
  }
  std::cout << *text;
  return 0;
}
