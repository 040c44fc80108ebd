// SPDX-License-Identifier: Apache-2.0
//
// Host time of a call of a declared kernel against its peers, on the fake CUDA driver of the tests,
// which counts a launch and returns: what is left is what the caller adds. call_bench runs, in
// rounds, a bare cuLaunchKernelEx through that driver, SavedKernel::launch and the call, one behind
// the other; the times that it prints are medians over rounds, and what a call takes above the bare
// launch is formed within each round. On hardware cuLaunchKernelEx itself takes about 2 us.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <vector>

#include "cuda_abi.h"
#include "fake_driver.h"
#include "pyptx/kernel.h"

namespace {

using namespace pyptx;
using namespace pyptx::types;

constexpr int kLaunches = 2000;
constexpr std::int64_t kSize = 1024;

/// Nanoseconds of one of `kLaunches`.
template <typename F>
double time_of(const F& launch) {
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < kLaunches; ++i) launch(i);
  const std::chrono::duration<double, std::nano> passed = std::chrono::steady_clock::now() - start;
  return passed.count() / kLaunches;
}

double median(std::vector<double> values) {
  std::ranges::nth_element(values, values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2));
  return values[values.size() / 2];
}

/// Empty bodies: nothing runs.
DeclaredKernel<> kernel_of(int tensors, bool with_scalar) {
  KernelSpec<> spec{.grid = ceil_div(dim("N"), 128), .block = {128}};
  if (with_scalar) spec.scalars = {{f32, "alpha"}};
  if (tensors == 2) {
    return kernel("two", {Input("X", {"N"}, f32), Output("Y", {"N"}, f32)}, spec,
                  [](const Tensor&, const Tensor&) { ptx::ret(); });
  }
  return kernel("six",
                {Input("A", {"N"}, f32), Input("B", {"N"}, f32), Input("C", {"N"}, f32),
                 Input("D", {"N"}, f32), Output("E", {"N"}, f32), Output("F", {"N"}, f32)},
                spec,
                [](const Tensor&, const Tensor&, const Tensor&, const Tensor&, const Tensor&,
                   const Tensor&) { ptx::ret(); });
}

using LaunchKernel = driver::cuda::Code (*)(const driver::cuda::LaunchConfig*,
                                            driver::cuda::Function, void** params, void** extra);

/// The three arms of a kernel, which `call` calls on so many tensors.
template <typename Call>
void measure(benchmark::State& state, int tensors, bool with_scalar, const Call& call) {
  const auto declared = kernel_of(tensors, with_scalar);
  const SavedKernel saved = declared.saved({{"N", kSize}}).or_throw();
  std::vector<DeviceTensor> memory;
  for (int i = 0; i < tensors; ++i) {
    memory.push_back({0x10000U * static_cast<unsigned>(i + 1), kSize * sizeof(float)});
  }
  const std::vector<Number> numbers(with_scalar ? 1 : 0, Number(0.5));
  void* library = dlopen(PYPTX_FAKE_CUDA, RTLD_NOW | RTLD_LOCAL);
  const auto launch = reinterpret_cast<LaunchKernel>(dlsym(library, "cuLaunchKernelEx"));
  const driver::cuda::LaunchConfig config{kSize / 128, 1, 1, 128, 1, 1, 0, nullptr, nullptr, 0};
  float alpha = 0.5F;
  std::vector<void*> parameters;
  for (DeviceTensor& tensor : memory) parameters.push_back(&tensor.address);
  if (with_scalar) parameters.push_back(&alpha);
  // Loaded and prepared, in both ways.
  for (int i = 0; i < 2; ++i) {
    static_cast<void>(saved.launch(nullptr, 0, memory, numbers).or_throw());
    static_cast<void>(call(declared, memory, 0).or_throw());
  }
  driver::FakeLibrary::get().state->recording = false;
  std::vector<double> bare, from_saved, from_call, above;
  for (auto _ : state) {
    bare.push_back(time_of([&](int) { launch(&config, nullptr, parameters.data(), nullptr); }));
    from_saved.push_back(time_of(
        [&](int) { benchmark::DoNotOptimize(saved.launch(nullptr, 0, memory, numbers).ok()); }));
    from_call.push_back(
        time_of([&](int i) { benchmark::DoNotOptimize(call(declared, memory, i).ok()); }));
    above.push_back(from_call.back() - bare.back());
  }
  driver::FakeLibrary::get().state->recording = true;
  state.counters["bare_ns"] = median(bare);
  state.counters["saved_ns"] = median(from_saved);
  state.counters["call_ns"] = median(from_call);
  state.counters["above_bare_ns"] = median(above);
}

TensorView view(const DeviceTensor& tensor) { return device(tensor.address, {kSize}, f32); }

void two_tensors(benchmark::State& state) {
  measure(state, 2, false, [](const auto& kernel, std::span<const DeviceTensor> t, int) {
    return kernel(view(t[0]), out(view(t[1])));
  });
}
void two_views_that_are_kept(benchmark::State& state) {
  const TensorView x = device(0x10000, {kSize}, f32);
  const auto y = out(device(0x20000, {kSize}, f32));
  measure(state, 2, false,
          [&](const auto& kernel, std::span<const DeviceTensor>, int) { return kernel(x, y); });
}
void two_tensors_and_a_scalar(benchmark::State& state) {
  measure(state, 2, true, [](const auto& kernel, std::span<const DeviceTensor> t, int i) {
    return kernel(view(t[0]), out(view(t[1])), static_cast<float>(i));
  });
}
void six_tensors(benchmark::State& state) {
  measure(state, 6, false, [](const auto& kernel, std::span<const DeviceTensor> t, int) {
    return kernel(view(t[0]), view(t[1]), view(t[2]), view(t[3]), out(view(t[4])), out(view(t[5])));
  });
}
/// Sizes that take turns.
void sixteen_sizes(benchmark::State& state) {
  measure(state, 2, false, [](const auto& kernel, std::span<const DeviceTensor> t, int i) {
    const std::int64_t size = 1 + i % 16;
    return kernel(device(t[0].address, {size}, f32), out(device(t[1].address, {size}, f32)));
  });
}

BENCHMARK(two_tensors)->Iterations(200);
BENCHMARK(two_views_that_are_kept)->Iterations(200);
BENCHMARK(two_tensors_and_a_scalar)->Iterations(200);
BENCHMARK(six_tensors)->Iterations(200);
BENCHMARK(sixteen_sizes)->Iterations(200);

}  // namespace

int main(int argc, char** argv) {
  setenv("PYPTX_CACHE", "0", 1);
  pyptx::fake::Cuda& cuda = *pyptx::driver::FakeLibrary::get().state;
  cuda.reset();
  cuda.entries = {"two", "six"};
  pyptx::driver::FakeLibrary::get().set_context(0);
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
