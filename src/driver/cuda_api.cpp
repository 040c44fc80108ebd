// SPDX-License-Identifier: Apache-2.0
#include "cuda_api.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>

#include "pyptx/support/concat.h"

namespace pyptx::driver {
namespace {

using diag::Diagnostic;
using diag::Kind;
using support::concat;

constexpr const char* kLibrary = "libcuda.so.1";

std::string library_path() {
  const char* chosen = std::getenv("PYPTX_LIBCUDA");
  return chosen != nullptr && *chosen != '\0' ? chosen : kLibrary;
}

std::string words(cuda::Code (*ask)(cuda::Code, const char**), cuda::Code code) {
  const char* text = nullptr;
  if (ask(code, &text) == cuda::kSuccess && text != nullptr) return text;
  return {};
}

/// What to do about it; empty where the driver's words are enough.
std::string_view advice(cuda::Code code) {
  switch (code) {
    case cuda::kOutOfMemory:
      return "the device's memory is full: free tensors, or let the framework's allocator give "
             "back what it caches";
    case cuda::kNotInitialized:
      return "CUDA does not survive fork(): start worker processes with the 'spawn' method";
    case cuda::kStubLibrary:
      return "this libcuda is the toolkit's stub for linking; put the driver's own library first "
             "on the loader's path";
    case cuda::kNoDevice:
      return "no GPU is visible to this process; CUDA_VISIBLE_DEVICES may hide it";
    case cuda::kInvalidImage:
    case cuda::kNoBinaryForGpu:
      return "the kernel was built for another target than this device's";
    case cuda::kUnsupportedPtxVersion:
      return "the driver is older than the text's .version; pin a lower version, or install "
             "nvJitLink or ptxas so that the driver need not compile";
    case cuda::kInvalidHandle:
      return "the stream may belong to another process or be destroyed already";
    case cuda::kIllegalAddress:
    case cuda::kMisalignedAddress:
    case cuda::kIllegalInstruction:
    case cuda::kLaunchFailed:
      return "an earlier kernel failed on the device, and this process can use the device no more; "
             "run the kernel in the emulator to find the access";
    case cuda::kLaunchTimeout:
      return "a kernel ran past the watchdog's limit; a wait may never have been satisfied";
    case cuda::kOutOfResources:
      return "the launch asks for more registers or shared memory than a block may have";
    case cuda::kSystemDriverMismatch:
      return "the kernel module and libcuda are of different versions; a restart loads both anew";
    case cuda::kCaptureUnsupported:
    case cuda::kCaptureInvalidated:
    case cuda::kCaptureImplicit:
      return "the stream is being captured into a graph; launch the kernel once before the capture "
             "begins";
    case cuda::kInvalidClusterSize:
      return "the device cannot place a cluster of this size with this much shared memory";
    default:
      return {};
  }
}

Diagnostic no_driver(std::string why) { return Diagnostic(Kind::NoDriver, {std::move(why)}); }

diag::Result<DeviceInfo> inspect(const cuda::Api& api, int ordinal, cuda::Device handle) {
  DeviceInfo info;
  info.ordinal = ordinal;
  cuda::Code code = cuda::kSuccess;
  const auto ask = [&](cuda::DeviceAttribute attribute) {
    int value = 0;
    if (code == cuda::kSuccess) code = api.device_attribute(&value, attribute, handle);
    return value;
  };
  const auto size = [&](cuda::DeviceAttribute attribute) {
    return static_cast<std::uint32_t>(ask(attribute));
  };
  info.major = ask(cuda::kCapabilityMajor);
  info.minor = ask(cuda::kCapabilityMinor);
  info.multiprocessors = ask(cuda::kMultiprocessorCount);
  info.max_threads_per_block = size(cuda::kMaxThreadsPerBlock);
  info.shared_default = size(cuda::kMaxSharedPerBlock);
  info.shared_optin = size(cuda::kMaxSharedPerBlockOptin);
  info.l2_bytes = size(cuda::kL2CacheSize);
  if (code != cuda::kSuccess) return diag::fail(cuda_error(api, "cuDeviceGetAttribute", code));
  // A driver that does not know the attribute has no clusters.
  info.clusters = ask(cuda::kClusterLaunch) != 0;
  std::array<char, 256> name{};
  code = api.device_name(name.data(), static_cast<int>(name.size()) - 1, handle);
  if (code != cuda::kSuccess) return diag::fail(cuda_error(api, "cuDeviceGetName", code));
  info.name = name.data();
  info.target = target_of(info.major, info.minor);
  return info;
}

const diag::Result<cuda::Api>& process_api() {
  static const diag::Result<cuda::Api> opened = open_api(library_path());
  return opened;
}

diag::Result<const Driver*> load() {
  const auto& api = process_api();
  if (!api) return diag::fail(api.error());
  auto driver = start(*api);
  if (!driver) return driver.failure();
  return driver->release();
}

}  // namespace

diag::Diagnostic cuda_error(const cuda::Api& api, std::string_view call, cuda::Code code) {
  std::string name = words(api.error_name, code);
  std::string text = words(api.error_string, code);
  if (name.empty()) name = concat("error ", code);
  if (text.empty()) text = "the driver has no words for it";
  Diagnostic out(Kind::CudaError, {std::string(call), std::move(name), std::move(text)});
  if (const auto hint = advice(code); !hint.empty()) out->notes.emplace_back(hint);
  return out;
}

diag::Result<cuda::Api> open_api(const std::string& path) {
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* why = dlerror();
    return diag::fail(no_driver(concat("the driver library ", path, " cannot be opened"))
                          .note(why != nullptr ? why : "the loader gave no reason"));
  }
  cuda::Api api;
  std::string missing;
#define PYPTX_CUDA_RESOLVE(member, symbol, required, parameters)              \
  api.member = reinterpret_cast<decltype(api.member)>(dlsym(handle, symbol)); \
  if (api.member == nullptr && (required)) missing += concat(missing.empty() ? "" : ", ", symbol);
  PYPTX_CUDA_ENTRY_POINTS(PYPTX_CUDA_RESOLVE)
#undef PYPTX_CUDA_RESOLVE
  if (!missing.empty()) {
    dlclose(handle);
    return diag::fail(
        no_driver(concat(path, " is older than CUDA 12.0")).note(concat("it has no ", missing)));
  }
  return api;
}

diag::Result<std::unique_ptr<Driver>> start(const cuda::Api& api) {
  if (const cuda::Code code = api.init(0); code != cuda::kSuccess) {
    Diagnostic cause = cuda_error(api, "cuInit", code);
    Diagnostic out = no_driver(cause.message());
    out->notes = std::move(cause->notes);
    return diag::fail(std::move(out));
  }
  auto driver = std::make_unique<Driver>();
  driver->api = api;
  int count = 0;
  if (const cuda::Code code = api.driver_version(&driver->version); code != cuda::kSuccess) {
    return diag::fail(cuda_error(api, "cuDriverGetVersion", code));
  }
  if (const cuda::Code code = api.device_count(&count); code != cuda::kSuccess) {
    return diag::fail(cuda_error(api, "cuDeviceGetCount", code));
  }
  if (count == 0) {
    return diag::fail(no_driver("there is no device").note(std::string(advice(cuda::kNoDevice))));
  }
  for (int ordinal = 0; ordinal < count && ordinal < kMaxDevices; ++ordinal) {
    cuda::Device handle = 0;
    if (const cuda::Code code = api.device_get(&handle, ordinal); code != cuda::kSuccess) {
      return diag::fail(cuda_error(api, "cuDeviceGet", code));
    }
    auto info = inspect(api, ordinal, handle);
    if (!info) return info.failure();
    driver->devices.push_back(std::move(*info));
    driver->handles.push_back(handle);
  }
  return driver;
}

std::optional<int> Driver::ordinal(cuda::Device handle) const {
  const auto found = std::ranges::find(handles, handle);
  if (found == handles.end()) return std::nullopt;
  return static_cast<int>(found - handles.begin());
}

diag::Result<int> library_version() {
  const auto& api = process_api();
  if (!api) return diag::fail(api.error());
  int version = 0;
  if (const cuda::Code code = api->driver_version(&version); code != cuda::kSuccess) {
    return diag::fail(cuda_error(*api, "cuDriverGetVersion", code));
  }
  return version;
}

diag::Result<const Driver*> driver() {
  static const diag::Result<const Driver*> loaded = load();
  return loaded;
}

diag::Result<const Driver*> driver_with(int ordinal) {
  auto found = driver();
  if (!found) return found;
  const auto count = static_cast<int>((*found)->devices.size());
  if (ordinal < 0 || ordinal >= count) {
    return diag::fail(Kind::NoSuchDevice, {concat(ordinal), concat(count)});
  }
  return found;
}

}  // namespace pyptx::driver
