// SPDX-License-Identifier: Apache-2.0
//
// Launching with no Python: kernels written in C++ (rms_norm.h, and one with a scalar that each
// launch brings) and, where a file is named, a GEMM that was traced in Python and saved:
//
//     python -c "from gemm import build_gemm; build_gemm().save('gemm.pyptx', M=256, N=128, K=192)"
//     launch [gemm.pyptx]
//
// All run on the first GPU that can run them, else on the emulator, and are compared with float64.
// The driver is opened at run time; nothing of CUDA is needed to build this.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <iostream>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "pyptx/diag/render.h"
#include "pyptx/kernel.h"
#include "rms_norm.h"

namespace {

using namespace pyptx;

/// Host memory of one tensor.
using Bytes = std::vector<std::byte>;

constexpr int kDevice = 0;

std::vector<float> random_values(std::size_t count, unsigned seed) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<float> values(-1.0F, 1.0F);
  std::vector<float> out(count);
  for (float& value : out) value = values(generator);
  return out;
}

Bytes bytes_of(std::span<const float> values) {
  const auto raw = std::as_bytes(values);
  return {raw.begin(), raw.end()};
}

/// bf16 is the upper half of f32; these values are cut, not rounded, and exact after that.
Bytes bf16_bytes_of(std::span<float> values) {
  Bytes out(values.size() * 2);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(values[i]) & 0xFFFF0000U;
    const auto half = static_cast<std::uint16_t>(bits >> 16);
    std::memcpy(out.data() + 2 * i, &half, sizeof(half));
    values[i] = std::bit_cast<float>(bits);
  }
  return out;
}

/// Tensors to the device, one launch, tensors back.
diag::Status run_on_device(const SavedKernel& kernel, std::vector<Bytes>& tensors,
                           std::span<const Number> values) {
  auto stream = Stream::create(kDevice);
  if (!stream) return stream.failure();
  std::vector<DeviceMemory> memory;
  std::vector<DeviceTensor> arguments;
  for (const Bytes& tensor : tensors) {
    auto allocated = DeviceMemory::allocate(kDevice, tensor.size());
    if (!allocated) return allocated.failure();
    memory.push_back(std::move(*allocated));
    arguments.push_back({memory.back().address(), memory.back().bytes()});
    if (auto copied = memory.back().copy_from(tensor.data(), *stream); !copied) return copied;
  }
  if (auto launched = kernel.launch(stream->handle(), kDevice, arguments, values); !launched) {
    return launched;
  }
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (auto copied = memory[i].copy_to(tensors[i].data(), *stream); !copied) return copied;
  }
  return stream->synchronize();
}

diag::Status run_on_emulator(const SavedKernel& kernel, std::vector<Bytes>& tensors,
                             std::span<const Number> values) {
  std::vector<HostTensor> arguments;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const auto address = reinterpret_cast<std::uintptr_t>(tensors[i].data());
    arguments.push_back({address, tensors[i].size(), i >= kernel.inputs.size()});
  }
  const auto report = kernel.emulate(arguments, {}, values);
  if (!report) return diag::fail(report.error());
  return diag::success();
}

/// Where this kernel runs here; the reason is shown where it is not the GPU.
bool runs_on_device(const SavedKernel& kernel) {
  auto ready = driver::available();
  if (ready) ready = kernel.prepare(kDevice);
  if (!ready) std::cout << kernel.image->plan().entry << ": " << ready.error().message() << "\n";
  return ready.ok();
}

/// Runs the kernel and compares its output, f32, with `expected`. `tensors` has the inputs,
/// `values` those of its scalars.
bool check(const SavedKernel& kernel, std::vector<Bytes> tensors, std::span<const double> expected,
           double tolerance, std::span<const Number> values = {}) {
  tensors.emplace_back(kernel.outputs[0].bytes);
  const bool on_device = runs_on_device(kernel);
  const auto done =
      on_device ? run_on_device(kernel, tensors, values) : run_on_emulator(kernel, tensors, values);
  if (!done) {
    std::cerr << diag::render(done.error(), kernel.image->locations().get());
    return false;
  }
  std::vector<float> got(expected.size());
  std::memcpy(got.data(), tensors.back().data(), tensors.back().size());
  double largest = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double error = std::abs(got[i] - expected[i]);
    largest = std::isfinite(error) ? std::max(largest, error) : INFINITY;
  }
  const std::string place = on_device ? (*driver::device(kDevice))->name : "the emulator";
  std::cout << kernel.image->plan().entry << " on " << place << ": largest error " << largest
            << (largest <= tolerance ? "" : ", WRONG") << "\n";
  return largest <= tolerance;
}

// --- the kernel of rms_norm.h --------------------------------------------------------------------

std::vector<double> rms_norm_of(std::span<const float> x, std::span<const float> w, double eps) {
  std::vector<double> out(x.size());
  const std::size_t columns = w.size();
  for (std::size_t row = 0; row < x.size(); row += columns) {
    double sum = 0;
    for (std::size_t i = 0; i < columns; ++i) sum += double{x[row + i]} * x[row + i];
    const double scale = 1 / std::sqrt(sum / static_cast<double>(columns) + eps);
    for (std::size_t i = 0; i < columns; ++i) out[row + i] = x[row + i] * scale * w[i];
  }
  return out;
}

bool run_rms_norm(std::int64_t rows, std::int64_t columns) {
  constexpr double kEps = 1e-6;
  const auto kernel =
      examples::rms_norm().saved({{"M", rows}, {"N", columns}}, examples::Norm{.eps = kEps});
  if (!kernel) {
    std::cerr << diag::render(kernel.error(), nullptr);
    return false;
  }
  const auto x = random_values(static_cast<std::size_t>(rows * columns), 1);
  const auto w = random_values(static_cast<std::size_t>(columns), 2);
  return check(*kernel, {bytes_of(x), bytes_of(w)}, rms_norm_of(x, w, kEps), 1e-5);
}

// --- a scalar that each launch brings ------------------------------------------------------------

bool run_scale(std::int64_t count) {
  using namespace pyptx::types;
  const auto body = [](const Tensor& X, const Tensor& Y) {
    const auto [px, py] = ptx::global_ptrs(X, Y);
    const Reg offset = reg::from(ptx::special::ctaid.x(), u32) * 4;
    const Reg value = reg::scalar(f32);
    ptx::inst::ld.global.f32(value, ptx::addr(px + offset));
    ptx::inst::mul.f32(value, value, ptx::param(f32, "alpha"));
    ptx::inst::st.global.f32(ptx::addr(py + offset), value);
    ptx::ret();
  };
  const auto scale = pyptx::kernel("scale", {Input("X", {"N"}, f32), Output("Y", {"N"}, f32)},
                                   {.grid = dim("N"), .scalars = {{f32, "alpha", 2.0}}}, body);
  const auto kernel = scale.saved({{"N", count}});
  if (!kernel) {
    std::cerr << diag::render(kernel.error(), nullptr);
    return false;
  }
  const auto x = random_values(static_cast<std::size_t>(count), 5);
  const auto scaled = [&](double alpha) {
    std::vector<double> out(x.begin(), x.end());
    for (double& value : out) value *= alpha;
    return out;
  };
  const Number alphas[] = {0.5};
  return check(*kernel, {bytes_of(x)}, scaled(2.0), 0) &&
         check(*kernel, {bytes_of(x)}, scaled(0.5), 0, alphas);
}

// --- a saved GEMM --------------------------------------------------------------------------------

bool is_gemm(const SavedKernel& kernel) {
  return kernel.inputs.size() == 2 && kernel.outputs.size() == 1 &&
         std::all_of(kernel.inputs.begin(), kernel.inputs.end(),
                     [](const auto& t) { return t.dtype == "bf16" && t.shape.size() == 2; }) &&
         kernel.outputs[0].dtype == "f32";
}

bool run_gemm(const std::string& path) {
  const auto kernel = SavedKernel::load(path);
  if (!kernel) {
    std::cerr << diag::render(kernel.error(), nullptr);
    return false;
  }
  if (!is_gemm(*kernel)) {
    std::cerr << path << " does not multiply two matrices of bf16 into one of f32\n";
    return false;
  }
  const auto m = static_cast<std::size_t>(kernel->inputs[0].shape[0]);
  const auto k = static_cast<std::size_t>(kernel->inputs[0].shape[1]);
  const auto n = static_cast<std::size_t>(kernel->inputs[1].shape[0]);
  auto a = random_values(m * k, 3);
  auto b = random_values(n * k, 4);
  std::vector<Bytes> tensors = {bf16_bytes_of(a), bf16_bytes_of(b)};
  std::vector<double> expected(m * n);
  for (std::size_t row = 0; row < m; ++row) {
    for (std::size_t column = 0; column < n; ++column) {
      double sum = 0;
      for (std::size_t i = 0; i < k; ++i) sum += double{a[row * k + i]} * b[column * k + i];
      expected[row * n + column] = sum;
    }
  }
  return check(*kernel, std::move(tensors), expected, 1e-5 * static_cast<double>(k));
}

}  // namespace

int main(int argc, char** argv) {
  bool ok = run_rms_norm(64, 1024);
  ok = run_scale(100) && ok;
  if (argc > 1) ok = run_gemm(argv[1]) && ok;
  return ok ? 0 : 1;
}
