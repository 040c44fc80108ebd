// SPDX-License-Identifier: Apache-2.0
//
// The sum of a vector whose length comes with the launch, by one block: a loop at run time,
// shuffles within warps, shared memory between them. The smallest program that declares, calls and
// checks a kernel, on the emulator, with exceptions in place of results that are looked at.
#include <cmath>
#include <cstdint>
#include <iostream>
#include <vector>

#include "pyptx/kernel.h"

namespace {

using namespace pyptx;
using namespace pyptx::types;

constexpr std::uint32_t kThreads = 128;
constexpr std::uint32_t kWarps = kThreads / 32;

DeclaredKernel<> block_sum() {
  const auto body = [](const Tensor& X, const Tensor& Y) {
    const auto [px, py] = ptx::global_ptrs(X, Y);
    const Reg tid = ptx::special::tid.x();
    const Reg sum = reg::scalar(f32, 0.0);
    const auto add = [&, px = px](const Reg& i) {
      const Reg x = reg::scalar(f32);
      ptx::inst::ld.global.f32(x, ptx::addr(px + i * 4));
      sum += x;  // `sum = sum + x` would name another register, and not compile
    };
    ptx::range(tid, X.shape(0), add, kThreads);
    ptx::warp::reduce_sum(sum);

    const Shared parts = smem::alloc(f32, {kWarps});
    const Reg warp = tid >> 5;
    ptx::if_((tid & 31) == 0, [&] { parts.store({warp}, sum); });
    ptx::bar::sync();
    ptx::if_(tid == 0, [&, py = py] {
      const Reg total = parts.load({0});
      for (std::uint32_t i = 1; i < kWarps; ++i) total += parts.load({i});
      ptx::inst::st.global.f32(ptx::addr(py), total);
    });
    ptx::ret();
  };
  return kernel("block_sum", {Input("X", {"N"}, f32), Output("Y", {1}, f32)},
                {.block = {kThreads}, .dynamic = {"N"}, .arch = "sm_80"}, body);
}

bool is_right(const DeclaredKernel<>& block_sum, std::size_t n) {
  std::vector<float> x(n);
  double expected = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = 1.0F / static_cast<float>(i + 1);
    expected += x[i];
  }
  std::vector<float> sum(1);
  static_cast<void>(block_sum(x, out(sum)).or_throw());
  const double error = std::abs(sum[0] - expected);
  std::cout << "block_sum of " << n << ": error " << error << "\n";
  return error < 1e-5;
}

}  // namespace

int main() {
  try {
    return is_right(block_sum(), 1000) ? 0 : 1;
  } catch (const diag::Exception& error) {
    std::cerr << error.what();
    return 1;
  }
}
