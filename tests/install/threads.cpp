// SPDX-License-Identifier: Apache-2.0
//
// Eight threads that trace, compose, verify and emulate at the same time: each its own kernels, and
// all of them one that they share. Built with sanitizers too (tests/install/consumers.py).
#include <pyptx/author.h>
#include <pyptx/launch.h>
#include <pyptx/pyptx.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace pyptx;
using namespace pyptx::types;

constexpr std::int64_t kThreads = 8;
constexpr std::int64_t kRounds = 6;
constexpr std::int64_t kSize = 96;
constexpr std::uint32_t kBlock = 32;
constexpr const char* kNoParameter = "PTX0240";

/// Y = X * factor + sum of 0 ... turns - 1
Kernel affine(double factor, std::int64_t turns) {
  const auto body = [=](const Tensor& X, const Tensor& Y) {
    const auto [px, py] = ptx::global_ptrs(X, Y);
    const Reg i = ptx::special::ctaid.x() * ptx::special::ntid.x() + ptx::special::tid.x();
    const auto each = [&, in = px, out = py] {
      const Reg x = reg::scalar(f32);
      ptx::inst::ld.global.f32(x, ptx::addr(in + i * 4));
      x *= factor;
      ptx::range(0, turns, [&](const Reg& turn) { x += reg::from(turn, f32); });
      ptx::inst::st.global.f32(ptx::addr(out + i * 4), x);
    };
    ptx::if_(i < kSize, each);
  };
  return {"affine", {"X", "Y"}, {.target = {80, 0}}, body};
}

SavedKernel composed(double factor, std::int64_t turns) {
  const Traced traced = affine(factor, turns).trace().or_throw();
  const Checked checked = check(print(*traced.module), "affine.ptx");
  if (!checked.ok()) std::abort();
  const Tile tile{.dims = {"N"}, .dtype = "f32"};
  const Signature signature{.kernel = "affine", .inputs = {{"X", tile}}, .outputs = {{"Y", tile}}};
  const KernelLaunch launch{.grid = {.x = 3}, .block = {.x = kBlock}};
  return compose(traced, signature, *signature.facts({{"N", kSize}}), launch).or_throw();
}

bool is_right(const SavedKernel& kernel, double factor, std::int64_t turns) {
  std::vector<float> x(kSize);
  std::vector<float> y(kSize);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i);
  const auto place = [](std::vector<float>& of, bool is_output) {
    return HostTensor{reinterpret_cast<std::uintptr_t>(of.data()), of.size() * sizeof(float),
                      is_output};
  };
  const std::vector<HostTensor> tensors{place(x, false), place(y, true)};
  if (!kernel.emulate(tensors, {.races = true})) return false;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double expected = factor * x[i] + static_cast<double>(turns * (turns - 1) / 2);
    if (static_cast<double>(y[i]) != expected) return false;
  }
  return true;
}

}  // namespace

int main() {
  const SavedKernel shared = composed(3, 4);
  std::atomic<std::int64_t> wrong = 0;
  const auto work = [&](std::int64_t thread) {
    for (std::int64_t round = 0; round < kRounds; ++round) {
      const auto factor = static_cast<double>(thread % 4 + round);
      wrong += is_right(composed(factor, round), factor, round) ? 0 : 1;
      wrong += is_right(shared, 3, 4) ? 0 : 1;
    }
    // A mistake of one thread is not another's.
    const auto refused = Kernel("k", {}, {}, [] { ptx::param(u32, "n"); }).trace();
    wrong += !refused && refused.error().code() == kNoParameter ? 0 : 1;
  };
  std::vector<std::thread> threads;
  for (std::int64_t thread = 0; thread < kThreads; ++thread) threads.emplace_back(work, thread);
  for (std::thread& thread : threads) thread.join();
  std::cout << kThreads * kRounds * 2 << " launches, " << wrong << " wrong\n";
  return wrong == 0 ? 0 : 1;
}
