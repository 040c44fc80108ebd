// SPDX-License-Identifier: Apache-2.0
//
// One kernel for any size, with no Python: written here, or saved by Python without its sizes.
//
//     any_size SIZE...                 y = 2 x, written below
//     any_size --load FILE SIZE...     a kernel for any size of one f32 tensor like (N,), that
//     doubles
//
// Each size is launched on the first GPU, else on the emulator, and compared. One text serves all.
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <span>
#include <string>
#include <vector>

#include "pyptx/diag/render.h"
#include "pyptx/kernel.h"

namespace {

using namespace pyptx;

constexpr int kDevice = 0;
constexpr std::uint32_t kThreads = 128;

/// The kernel's own size is a parameter of the launch, N; its grid follows from N.
diag::Result<OpenKernel> double_of_any_size() {
  using namespace pyptx::types;
  const auto body = [](const Tensor& X, const Tensor& Y) {
    const auto [px, py] = ptx::global_ptrs(X, Y);
    const Reg i = reg::from(ptx::special::ctaid.x(), u32) * kThreads + ptx::special::tid.x();
    ptx::if_(i < X.shape(0), [&] {
      const Reg value = reg::scalar(f32);
      ptx::inst::ld.global.f32(value, ptx::addr(px + i * 4));
      ptx::inst::add.f32(value, value, value);
      ptx::inst::st.global.f32(ptx::addr(py + i * 4), value);
    });
    ptx::ret();
  };
  const auto twice =
      kernel("twice", {Input("X", {"N"}, f32), Output("Y", {"N"}, f32)},
             {.grid = ceil_div(dim("N"), kThreads), .block = {kThreads}, .dynamic = {"N"}}, body);
  return twice.open();
}

diag::Status on_device(const SavedKernel& kernel, std::span<const float> x, std::span<float> y) {
  auto stream = Stream::create(kDevice);
  if (!stream) return stream.failure();
  auto in = DeviceMemory::allocate(kDevice, x.size_bytes());
  if (!in) return in.failure();
  auto out = DeviceMemory::allocate(kDevice, y.size_bytes());
  if (!out) return out.failure();
  if (auto copied = in->copy_from(x.data(), *stream); !copied) return copied;
  const DeviceTensor tensors[] = {{in->address(), in->bytes()}, {out->address(), out->bytes()}};
  if (auto launched = kernel.launch(stream->handle(), kDevice, tensors); !launched) return launched;
  if (auto copied = out->copy_to(y.data(), *stream); !copied) return copied;
  return stream->synchronize();
}

diag::Status on_emulator(const SavedKernel& kernel, std::span<const float> x, std::span<float> y) {
  const HostTensor tensors[] = {{reinterpret_cast<std::uintptr_t>(x.data()), x.size_bytes(), false},
                                {reinterpret_cast<std::uintptr_t>(y.data()), y.size_bytes()}};
  const auto report = kernel.emulate(tensors);
  return report ? diag::success() : diag::fail(report.error());
}

diag::Result<bool> check(const OpenKernel& open, std::int64_t size) {
  std::vector<float> x(static_cast<std::size_t>(size)), y(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::sin(static_cast<float>(i));
  const std::vector<Shape> shapes = {{size}};
  const auto kernel = open.at(shapes);
  if (!kernel) return diag::fail(kernel.error());
  const bool has_device = driver::available().ok();
  if (auto done = has_device ? on_device(*kernel, x, y) : on_emulator(*kernel, x, y); !done) {
    return done.failure();
  }
  bool is_right = true;
  for (std::size_t i = 0; i < x.size(); ++i) is_right = is_right && y[i] == 2 * x[i];
  std::cout << open.signature.kernel << " of " << size << (is_right ? ": right" : ": WRONG")
            << "\n";
  return is_right;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  const bool is_loaded = words.size() > 1 && words[0] == "--load";
  const auto kernel = is_loaded ? OpenKernel::load(words[1]) : double_of_any_size();
  if (!kernel) {
    std::cerr << diag::render(kernel.error(), nullptr);
    return 1;
  }
  bool is_right = true;
  for (std::size_t i = is_loaded ? 2 : 0; i < words.size(); ++i) {
    const auto done = check(*kernel, std::atoll(words[i].c_str()));
    if (!done) std::cerr << diag::render(done.error(), &kernel->text.module->locations);
    is_right = is_right && done && *done;
  }
  return is_right ? 0 : 1;
}
