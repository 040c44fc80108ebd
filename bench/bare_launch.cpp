// SPDX-License-Identifier: Apache-2.0
//
// The floor of every launch path: cuLaunchKernelEx in a loop, no language and no framework around
// it. bench/bare.py says through ctypes, once per round, what is launched, so that the cost of
// saying it is not counted. What is launched is a CUkernel, as cuLibraryGetKernel gives it, or, for
// a floor below that one, the function of the current context, which the driver otherwise looks up
// in every launch.
#include <dlfcn.h>

#include <chrono>
#include <cstdint>

#include "cuda_abi.h"

namespace {

namespace cuda = pyptx::driver::cuda;

using LaunchKernel = cuda::Code (*)(const cuda::LaunchConfig*, cuda::Function, void** params,
                                    void** extra);
using GetFunction = cuda::Code (*)(cuda::Function*, cuda::KernelHandle);

constexpr std::int64_t kNoDriver = -1;

template <typename Type>
Type entry_point(const char* name) {
  void* library = dlopen("libcuda.so.1", RTLD_NOW);
  return library == nullptr ? nullptr : reinterpret_cast<Type>(dlsym(library, name));
}

}  // namespace

/// The current context's function of a CUkernel; the handle itself where that is no CUkernel.
extern "C" __attribute__((visibility("default"))) void* pyptx_bare_function(void* kernel) {
  const auto get = entry_point<GetFunction>("cuKernelGetFunction");
  cuda::Function function = nullptr;
  if (get == nullptr || get(&function, static_cast<cuda::KernelHandle>(kernel)) != cuda::kSuccess) {
    return kernel;
  }
  return function;
}

/// Nanoseconds for `count` launches, or a negative number: -1 without a driver, else what it
/// answered, less 1000. `shape` is grid, block and cluster, three numbers each, and the bytes of
/// dynamic shared memory; `params` has the address of each parameter's bytes.
extern "C" __attribute__((visibility("default"))) std::int64_t pyptx_bare_launches(
    void* function, const std::uint32_t* shape, void* stream, void** params, std::int64_t count) {
  const auto launch = entry_point<LaunchKernel>("cuLaunchKernelEx");
  if (launch == nullptr) return kNoDriver;
  cuda::LaunchAttribute cluster;
  cluster.id = cuda::kAttributeClusterDimension;
  cluster.value.cluster = {shape[6], shape[7], shape[8]};
  const bool has_cluster = shape[6] * shape[7] * shape[8] > 1;
  const cuda::LaunchConfig config{shape[0],
                                  shape[1],
                                  shape[2],
                                  shape[3],
                                  shape[4],
                                  shape[5],
                                  shape[9],
                                  static_cast<cuda::Stream>(stream),
                                  has_cluster ? &cluster : nullptr,
                                  has_cluster ? 1U : 0U};
  const auto handle = static_cast<cuda::Function>(function);
  const auto begin = std::chrono::steady_clock::now();
  for (std::int64_t i = 0; i < count; ++i) {
    const cuda::Code code = launch(&config, handle, params, nullptr);
    if (code != cuda::kSuccess) return -1000 - code;
  }
  const auto end = std::chrono::steady_clock::now();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(end - begin).count();
}
