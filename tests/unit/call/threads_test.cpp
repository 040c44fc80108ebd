// SPDX-License-Identifier: Apache-2.0
//
// Threads that declare, trace, compose, call and emulate at the same time.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "kernels.h"
#include "pyptx/diag/render.h"

namespace pyptx {
namespace {

using namespace pyptx::types;

constexpr int kThreadCount = 8;

template <typename F>
void on_threads(const F& f) {
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreadCount; ++i) threads.emplace_back([&f, i] { f(i); });
  for (std::thread& thread : threads) thread.join();
}

TEST(Threads, ASpecialisationIsTracedOnce) {
  std::atomic<int> traces = 0;
  const auto fill =
      kernel("fill", {Output("Y", {"N"}, u32)}, {.grid = dim("N")}, [&](const Tensor& Y) {
        ++traces;
        const Reg i = ptx::special::ctaid.x();
        const Reg place = ptx::global_ptr(Y) + reg::from(i, u64) * 4;
        ptx::inst::st.global.u32(ptx::addr(place), Y.shape(0));
        ptx::ret();
      });
  std::atomic<int> wrong = 0;
  on_threads([&](int thread) {
    for (int turn = 0; turn < 8; ++turn) {
      const std::uint32_t size = 1U + static_cast<std::uint32_t>(thread + turn) % 4;
      std::vector<std::uint32_t> y(size);
      const auto done = fill(out(y));
      if (!done) ADD_FAILURE() << diag::render(done.error(), nullptr);
      for (const std::uint32_t value : y) wrong += value == size ? 0 : 1;
    }
  });
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(traces, 4);
}

TEST(Threads, EachDeclaresTracesComposesCallsAndEmulates) {
  const auto shared = kernels::axpy();
  std::atomic<int> wrong = 0;
  on_threads([&](int thread) {
    const auto own = kernels::scale();
    const kernels::Scale values{.factor = thread + 1.0};
    for (std::size_t size = 1; size <= 4; ++size) {
      std::vector<float> x(size, 2.0F);
      std::vector<float> y(size, 1.0F);
      if (!own(x, out(y), values)) ++wrong;
      if (!shared(x, inout(y), 0.5)) ++wrong;
      emu::Options options;
      options.threads = 1;
      if (!shared.emulate(options, x, inout(y))) ++wrong;
      const float expected = 2.0F * static_cast<float>(thread + 1) + 5.0F;
      for (const float value : y) wrong += value == expected ? 0 : 1;
    }
    const auto saved = own.saved({{"N", 7}}, values);
    const auto open = shared.open();
    if (!saved || !open || !open->at({{"N", 7}})) ++wrong;
    const std::string text = own.ptx({{"N", 7}}, values).value_or("");
    if (text.empty() || text != saved->image->ptx()) ++wrong;
  });
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace pyptx
