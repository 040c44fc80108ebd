// SPDX-License-Identifier: Apache-2.0
//
// The floor of every launch path: cuLaunchKernel in a loop, no language and no framework around
// it. bench/launch.py calls it through ctypes once per round, so its own cost is not counted.
#include <dlfcn.h>

#include <chrono>
#include <cstdint>

namespace {

using LaunchKernel = int (*)(void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                             unsigned block_x, unsigned block_y, unsigned block_z,
                             unsigned shared_bytes, void* stream, void** params, void** extra);

}  // namespace

/// Nanoseconds for `count` launches of a kernel with three pointer parameters, or -1 on any error.
extern "C" __attribute__((visibility("default"))) std::int64_t pyptx_bare_launch(
    void* function, unsigned grid, unsigned block, void* stream, std::uint64_t a, std::uint64_t b,
    std::uint64_t c, std::int64_t count) {
  void* library = dlopen("libcuda.so.1", RTLD_NOW);
  if (library == nullptr) return -1;
  const auto launch = reinterpret_cast<LaunchKernel>(dlsym(library, "cuLaunchKernel"));
  if (launch == nullptr) return -1;
  void* params[] = {&a, &b, &c};
  const auto begin = std::chrono::steady_clock::now();
  for (std::int64_t i = 0; i < count; ++i) {
    if (launch(function, grid, 1, 1, block, 1, 1, 0, stream, params, nullptr) != 0) return -1;
  }
  const auto end = std::chrono::steady_clock::now();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(end - begin).count();
}
