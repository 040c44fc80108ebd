// SPDX-License-Identifier: Apache-2.0
//
// The sum of a vector whose length comes with the launch, by one block: a loop at run time,
// shuffles within warps, shared memory between them. The smallest program that traces, launches and
// checks a kernel, on the emulator, with exceptions in place of results that are looked at.
#include <cmath>
#include <cstdint>
#include <iostream>
#include <vector>

#include "pyptx/author.h"
#include "pyptx/launch.h"

namespace {

using namespace pyptx;
using namespace pyptx::types;

constexpr std::int64_t kThreads = 128;
constexpr std::int64_t kWarps = kThreads / 32;

Kernel block_sum() {
  const auto body = [](const Tensor& X, const Tensor& Y) {
    const auto [px, py] = ptx::global_ptrs(X, Y);
    const Reg n = ptx::param(u32, "n");
    const Reg tid = ptx::special::tid.x();
    const Reg sum = reg::scalar(f32, 0.0);
    const auto add = [&, px = px](const Reg& i) {
      const Reg x = reg::scalar(f32);
      ptx::inst::ld.global.f32(x, ptx::addr(px + i * 4));
      sum += x;  // `sum = sum + x` would name another register, and not compile
    };
    ptx::range(tid, n, add, kThreads);
    ptx::warp::reduce_sum(sum);

    const Shared parts = smem::alloc(f32, {kWarps});
    const Reg warp = tid >> 5;
    ptx::if_((tid & 31) == 0, [&] { parts.store({warp}, sum); });
    ptx::bar::sync();
    ptx::if_(tid == 0, [&, py = py] {
      const Reg total = parts.load({0});
      for (std::int64_t i = 1; i < kWarps; ++i) total += parts.load({i});
      ptx::inst::st.global.f32(ptx::addr(py), total);
    });
    ptx::ret();
  };
  return {"block_sum", {"X", "Y"}, {.target = {80, 0}, .raw_params = {{u32, "n"}}}, body};
}

bool is_right(const SavedKernel& kernel, std::int64_t n) {
  std::vector<float> x(static_cast<std::size_t>(n));
  double expected = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = 1.0F / static_cast<float>(i + 1);
    expected += x[i];
  }
  float sum = 0;
  const HostTensor tensors[] = {
      {reinterpret_cast<std::uintptr_t>(x.data()), x.size() * sizeof(float), false},
      {reinterpret_cast<std::uintptr_t>(&sum), sizeof(sum), true}};
  const Number scalars[] = {n};
  static_cast<void>(kernel.emulate(tensors, {}, scalars).or_throw());
  const double error = std::abs(sum - expected);
  std::cout << "block_sum of " << n << ": error " << error << "\n";
  return error < 1e-5;
}

}  // namespace

int main() {
  try {
    const std::int64_t n = 1000;
    const Signature signature{.kernel = "block_sum",
                              .inputs = {{"X", {.dims = {"N"}, .dtype = "f32"}}},
                              .outputs = {{"Y", {.dims = {1}, .dtype = "f32"}}},
                              .scalars = {{"u32", "n"}}};
    const Facts facts = signature.facts({{"N", n}}).or_throw();
    const KernelLaunch launch{.block = {.x = kThreads}};
    const SavedKernel kernel =
        compose(block_sum().trace().or_throw(), signature, facts, launch).or_throw();
    return is_right(kernel, n) ? 0 : 1;
  } catch (const diag::Exception& error) {
    std::cerr << error.what();
    return 1;
  }
}
