// SPDX-License-Identifier: Apache-2.0
//
// Throughput of the builder in C++ on one core: trace_bench [--seconds S] [--print]
// The kernel is that of bench/trace.py, unrolled to 50,000 instructions, each verified as it goes
// in and with the place in this file that wrote it. A rate is the best of several traces, whole:
// from the empty module to the finished one. The first is that of traces whose memory comes from
// the operating system and goes back to it, page by page, as malloc does in a program that does
// nothing else; the second that of traces in memory which the process holds already.
// --print prints the text instead, for comparison.
#include <malloc.h>
#include <time.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>
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
  return {"unrolled", {"X", "Y"}, {}, body};
}

/// Processor time of this thread: the figure is per core, whatever else the machine does.
double now() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

/// Traces until `seconds` are over, three times at least; the best rate, 0 where a trace fails.
double best_rate(const Kernel& kernel, double seconds) {
  double best = 0;
  const double start = now();
  for (int i = 0; i < 3 || now() - start < seconds; ++i) {
    const double begin = now();
    const auto traced = kernel.trace();
    const double taken = now() - begin;
    if (!traced) return 0;
    best = std::max(best, static_cast<double>(kGroups * kInstructionsPerGroup) / taken);
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
  constexpr int kAnySize = 1 << 30;
  const double fresh = best_rate(kernel, seconds);
  mallopt(M_MMAP_THRESHOLD, kAnySize);
  mallopt(M_TRIM_THRESHOLD, kAnySize);
  std::printf("%.0f instructions/s, fresh memory\n", fresh);
  std::printf("%.0f instructions/s, held memory\n", best_rate(kernel, seconds));
  return 0;
}
