// SPDX-License-Identifier: Apache-2.0
#include "pyptx/driver/device.h"

#include <charconv>

#include "cuda_api.h"
#include "pyptx/support/concat.h"

namespace pyptx::driver {

diag::Status available() {
  auto found = driver();
  if (!found) return found.failure();
  return diag::success();
}

diag::Result<int> driver_version() { return library_version(); }

diag::Result<int> device_count() {
  auto found = driver();
  if (!found) return found.failure();
  return static_cast<int>((*found)->devices.size());
}

diag::Result<const DeviceInfo*> device(int ordinal) {
  auto found = driver_with(ordinal);
  if (!found) return found.failure();
  return &(*found)->devices[static_cast<std::size_t>(ordinal)];
}

diag::Result<int> current_device() {
  auto found = driver();
  if (!found) return found.failure();
  const Driver& loaded = **found;
  cuda::Context context = nullptr;
  if (const auto code = loaded.api.context_current(&context); code != cuda::kSuccess) {
    return diag::fail(cuda_error(loaded.api, "cuCtxGetCurrent", code));
  }
  if (context == nullptr) return 0;
  cuda::Device handle = 0;
  if (const auto code = loaded.api.context_device(&handle); code != cuda::kSuccess) {
    return diag::fail(cuda_error(loaded.api, "cuCtxGetDevice", code));
  }
  return loaded.ordinal(handle).value_or(0);
}

std::string target_of(int major, int minor) {
  // Architecture-specific targets exist from compute capability 9.0 on (PTX ISA, ".target").
  return support::concat("sm_", major * 10 + minor, major >= 9 ? "a" : "");
}

diag::Result<std::string> code_target(std::string_view ptx_target, const DeviceInfo& device) {
  constexpr std::string_view kPrefix = "sm_";
  const auto mismatch = [&] {
    return diag::fail(diag::Kind::TargetMismatch,
                      {std::string(ptx_target), support::concat(device.ordinal), device.target});
  };
  if (!ptx_target.starts_with(kPrefix)) return mismatch();
  const char* end = ptx_target.data() + ptx_target.size();
  int sm = 0;
  const auto number = std::from_chars(ptx_target.data() + kPrefix.size(), end, sm);
  const std::string_view suffix(number.ptr, static_cast<std::size_t>(end - number.ptr));
  const int present = device.major * 10 + device.minor;
  // "a" code runs on its own architecture alone; "f" code on later members of its family, which
  // share the major number; plain code on everything later.
  bool runs = number.ec == std::errc() && present >= sm;
  if (suffix == "a") runs = runs && present == sm;
  if (suffix == "f") runs = runs && present / 10 == sm / 10;
  if (!runs) return mismatch();
  return support::concat(kPrefix, present, suffix);
}

}  // namespace pyptx::driver
