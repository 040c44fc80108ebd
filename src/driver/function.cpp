// SPDX-License-Identifier: Apache-2.0
//
// Launches of functions that somebody else loaded (see the header).
#include "pyptx/driver/function.h"

#include "context.h"
#include "cuda_api.h"

namespace pyptx::driver {

diag::Status launch_function(const FunctionLaunch& launch, void* stream, int device,
                             std::span<unsigned char> parameters) {
  auto loaded = driver_with(device);
  if (!loaded) return loaded.failure();
  const Driver& driver = **loaded;

  cuda::LaunchAttribute cluster;
  cluster.id = cuda::kAttributeClusterDimension;
  cluster.value.cluster = {launch.cluster.x, launch.cluster.y, launch.cluster.z};
  cuda::LaunchConfig config{};
  config.grid_x = launch.grid.x;
  config.grid_y = launch.grid.y;
  config.grid_z = launch.grid.z;
  config.block_x = launch.block.x;
  config.block_y = launch.block.y;
  config.block_z = launch.block.z;
  config.shared_bytes = launch.dynamic_shared;
  config.stream = static_cast<cuda::Stream>(stream);
  config.attributes = &cluster;
  config.attribute_count = launch.cluster == Dim3{} ? 0 : 1;

  std::size_t size = parameters.size();
  void* extra[] = {cuda::kParamBufferPointer, parameters.data(), cuda::kParamBufferSize, &size,
                   cuda::kParamEnd};
  const ContextScope context(driver, device);
  if (!context.ok()) return diag::fail(context.error());
  const auto code = driver.api.launch(&config, static_cast<cuda::Function>(launch.function),
                                      nullptr, size == 0 ? nullptr : extra);
  if (code == cuda::kSuccess) return diag::success();
  return diag::fail(cuda_error(driver.api, "cuLaunchKernelEx", code));
}

diag::Result<EncodedMap> with_address(const EncodedMap& map, std::uint64_t address) {
  auto loaded = driver();
  if (!loaded) return loaded.failure();
  const cuda::Api& api = (*loaded)->api;
  if (api.replace_address == nullptr) {
    return diag::fail(diag::Kind::NoDriver, {"this driver has no cuTensorMapReplaceAddress"});
  }
  EncodedMap copy = map;
  const auto code = api.replace_address(copy.bytes.data(), cuda::as_pointer(address));
  if (code == cuda::kSuccess) return copy;
  return diag::fail(cuda_error(api, "cuTensorMapReplaceAddress", code));
}

}  // namespace pyptx::driver
