// SPDX-License-Identifier: Apache-2.0
//
// Throughput of the builder in C++ on one core: trace_bench [--seconds S] [--print]
// The kernel is that of bench/trace.py, unrolled to 50,000 instructions, each verified as it goes
// in and with the place in this file that wrote it, without .loc lines. A rate is the best of
// several traces, whole: from the empty module to the finished one. The first is that of a thread
// that traces one kernel after the other; the second that of threads which trace one kernel each,
// so that every page of it is new to the process. --print prints the text instead, for comparison.
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <thread>
#include <utility>

#include "pyptx/author.h"
#include "pyptx/diag/render.h"

namespace {

using namespace pyptx;
using namespace pyptx::types;

constexpr std::int64_t kGroups = 12500;
constexpr std::int64_t kInstructionsPerGroup = 4;
constexpr std::int64_t kValues = 8;

Kernel unrolled() {
  const auto body = [](const Tensor& X, const Tensor& Y) {
    auto [px, py] = ptx::global_ptrs(X, Y);
    const Reg sum = reg::scalar(f32, 0.0);
    const RegArray values = reg::array(f32, static_cast<std::size_t>(kValues));
    for (std::int64_t i = 0; i < kGroups; ++i) {
      const Reg value = values[static_cast<std::size_t>(i % kValues)];
      ptx::inst::ld.global.f32(value, ptx::addr(px, i * 4));
      ptx::inst::fma.rn.f32(sum, value, value, sum);
      ptx::inst::add.f32(value, value, sum);
      ptx::inst::st.global.f32(ptx::addr(py, i * 4), value);
    }
    ptx::ret();
  };
  return {"unrolled", {"X", "Y"}, {.line_info = false}, body};
}

/// Processor time of this thread: the figure is per core, whatever else the machine does.
double now() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

/// Instructions per second of one trace; 0 where it fails.
double rate(const Kernel& kernel) {
  const double begin = now();
  const auto traced = kernel.trace();
  const double taken = now() - begin;
  return traced ? static_cast<double>(kGroups * kInstructionsPerGroup) / taken : 0;
}

/// The same on a thread of its own, which has let go of no memory yet.
double rate_on_fresh_pages(const Kernel& kernel) {
  double found = 0;
  std::thread([&] { found = rate(kernel); }).join();
  return found;
}

/// The best of what `measure` finds until `seconds` are over, three times at least.
double best_rate(const Kernel& kernel, double seconds, double (*measure)(const Kernel&)) {
  double best = 0;
  const auto start = std::chrono::steady_clock::now();
  const std::chrono::duration<double> limit(seconds);
  for (int i = 0; i < 3 || std::chrono::steady_clock::now() - start < limit; ++i) {
    best = std::max(best, measure(kernel));
  }
  return best;
}

}  // namespace

int main(int count, char** arguments) {
  double seconds = 1;
  bool prints = false;
  for (int i = 1; i < count; ++i) {
    const std::string_view argument = arguments[i];
    if (argument == "--print") prints = true;
    if (argument == "--seconds" && i + 1 < count) seconds = std::atof(arguments[++i]);
  }
  const Kernel kernel = unrolled();
  const auto text = kernel.ptx();
  if (!text) {
    std::fputs(diag::render(text.error(), nullptr).c_str(), stderr);
    return 1;
  }
  if (prints) {
    std::fputs(text->c_str(), stdout);
    return 0;
  }
  std::printf("%.0f instructions/s, ordinary\n", best_rate(kernel, seconds, rate));
  std::printf("%.0f instructions/s, fresh pages\n",
              best_rate(kernel, seconds, rate_on_fresh_pages));
  return 0;
}
