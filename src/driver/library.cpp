// SPDX-License-Identifier: Apache-2.0
#include "pyptx/driver/library.h"

#include <map>
#include <unordered_map>
#include <utility>

#include "context.h"
#include "cuda_api.h"
#include "pyptx/support/concat.h"
#include "pyptx/support/sha256.h"

namespace pyptx::driver {
namespace {

using diag::Diagnostic;
using diag::Kind;
using support::concat;

constexpr std::uint32_t kPortableCluster = 8;

/// The libraries of the process by content, and their kernels. Loading is serialised: a load may
/// wait for the device, and two loads of one cubin must not race.
struct Registry {
  std::mutex mutex;
  std::unordered_map<std::string, cuda::Library> libraries;
  std::map<std::pair<cuda::Library, std::string>, std::shared_ptr<Kernel>> kernels;
};

Registry& registry() {
  static auto* made = new Registry;  // never destroyed: threads may launch while the process ends
  return *made;
}

diag::Result<cuda::Library> load_library(const Driver& loaded, Registry& all,
                                         std::string_view cubin) {
  const std::string hash = support::Sha256::hex(cubin);
  if (const auto found = all.libraries.find(hash); found != all.libraries.end()) {
    return found->second;
  }
  // The driver copies the image; the terminating zero lets it take PTX text as well.
  const std::string image(cubin);
  cuda::Library library = nullptr;
  const RelaxedCapture relaxed(loaded.api);
  const cuda::Code code =
      loaded.api.library_load(&library, image.c_str(), nullptr, nullptr, 0, nullptr, nullptr, 0);
  if (code != cuda::kSuccess) return diag::fail(cuda_error(loaded.api, "cuLibraryLoadData", code));
  all.libraries.emplace(hash, library);
  return library;
}

cuda::KernelHandle as_kernel(void* handle) { return static_cast<cuda::KernelHandle>(handle); }

}  // namespace

diag::Result<std::shared_ptr<Kernel>> load_kernel(std::string_view cubin,
                                                  const std::string& entry) {
  auto found = driver();
  if (!found) return found.failure();
  const Driver& loaded = **found;
  Registry& all = registry();
  const std::scoped_lock lock(all.mutex);
  auto library = load_library(loaded, all, cubin);
  if (!library) return library.failure();
  const auto known = all.kernels.find({*library, entry});
  if (known != all.kernels.end()) return known->second;
  cuda::KernelHandle handle = nullptr;
  const cuda::Code code = loaded.api.library_kernel(&handle, *library, entry.c_str());
  if (code == cuda::kNotFound) return diag::fail(Kind::NoEntry, {entry});
  if (code != cuda::kSuccess) return diag::fail(cuda_error(loaded.api, "cuLibraryGetKernel", code));
  auto kernel = std::make_shared<Kernel>(handle, entry);
  all.kernels.emplace(std::pair(*library, entry), kernel);
  return kernel;
}

diag::Status Kernel::prepare(int device, std::uint32_t dynamic_shared, std::uint32_t cluster_size) {
  auto found = driver_with(device);
  if (!found) return found.failure();
  const Driver& loaded = **found;
  const auto index = static_cast<std::size_t>(device);
  const cuda::Device on = loaded.handles[index];

  const std::scoped_lock lock(mutex_);
  DeviceState& state = devices_[index];
  const RelaxedCapture relaxed(loaded.api);
  find_primary(loaded, device);
  const ContextScope context(loaded, device);
  if (!context.ok()) return diag::fail(context.error());
  if (state.primary_function == nullptr || !context.is_primary()) {
    // With lazy loading this is what loads the kernel; a capture would refuse it at the launch.
    cuda::Function function = nullptr;
    const auto code = loaded.api.kernel_function(&function, as_kernel(handle_));
    if (code != cuda::kSuccess) {
      return diag::fail(cuda_error(loaded.api, "cuKernelGetFunction", code));
    }
    // Another context may be destroyed, and then its function dangles: nothing is remembered of it.
    if (context.is_primary()) state.primary_function = function;
  }
  if (dynamic_shared > state.dynamic_shared) {
    if (auto status = allow_shared(loaded, device, dynamic_shared); !status) return status;
    state.dynamic_shared = dynamic_shared;
  }
  if (cluster_size > kPortableCluster && !state.large_cluster) {
    const auto code = loaded.api.kernel_set_attribute(cuda::kNonPortableClusterSizeAllowed, 1,
                                                      as_kernel(handle_), on);
    if (code != cuda::kSuccess) {
      return diag::fail(cuda_error(loaded.api, "cuKernelSetAttribute", code));
    }
    state.large_cluster = true;
  }
  return diag::success();
}

void* Kernel::primary_function(int device) {
  const std::scoped_lock lock(mutex_);
  return devices_[static_cast<std::size_t>(device)].primary_function;
}

/// Static and dynamic shared memory together may exceed the default only when asked for.
diag::Status Kernel::allow_shared(const Driver& loaded, int device, std::uint32_t dynamic_shared) {
  const auto index = static_cast<std::size_t>(device);
  const cuda::Device on = loaded.handles[index];
  const DeviceInfo& info = loaded.devices[index];
  int used = 0;
  auto code =
      loaded.api.kernel_get_attribute(&used, cuda::kSharedSizeBytes, as_kernel(handle_), on);
  if (code != cuda::kSuccess) {
    return diag::fail(cuda_error(loaded.api, "cuKernelGetAttribute", code));
  }
  const std::uint64_t total = std::uint64_t{dynamic_shared} + static_cast<std::uint32_t>(used);
  if (total <= info.shared_default) return diag::success();
  if (dynamic_shared <= info.shared_optin) {
    code = loaded.api.kernel_set_attribute(
        cuda::kMaxDynamicSharedSizeBytes, static_cast<int>(dynamic_shared), as_kernel(handle_), on);
    if (code == cuda::kSuccess) return diag::success();
    if (code != cuda::kInvalidValue) {
      return diag::fail(cuda_error(loaded.api, "cuKernelSetAttribute", code));
    }
  }
  return diag::fail(Diagnostic(Kind::SharedLimit,
                               {entry_, concat(total), concat(device), concat(info.shared_optin)})
                        .note(concat(used, " bytes are static, ", dynamic_shared, " dynamic")));
}

diag::Result<Kernel::Resources> Kernel::resources(int device) {
  auto found = driver_with(device);
  if (!found) return found.failure();
  const Driver& loaded = **found;
  const RelaxedCapture relaxed(loaded.api);
  const ContextScope context(loaded, device);
  if (!context.ok()) return diag::fail(context.error());
  cuda::Code code = cuda::kSuccess;
  const auto ask = [&](cuda::FunctionAttribute attribute) {
    int value = 0;
    if (code == cuda::kSuccess) {
      code = loaded.api.kernel_get_attribute(&value, attribute, as_kernel(handle_),
                                             loaded.handles[static_cast<std::size_t>(device)]);
    }
    return value;
  };
  Resources out;
  out.registers = ask(cuda::kNumRegs);
  out.local_bytes = ask(cuda::kLocalSizeBytes);
  out.static_shared = ask(cuda::kSharedSizeBytes);
  out.constant_bytes = ask(cuda::kConstSizeBytes);
  out.max_threads = ask(cuda::kFunctionMaxThreads);
  out.binary_version = ask(cuda::kBinaryVersion);
  if (code != cuda::kSuccess) {
    return diag::fail(cuda_error(loaded.api, "cuKernelGetAttribute", code));
  }
  // Only drivers that know clusters know this one.
  out.needs_cluster = ask(cuda::kClusterSizeMustBeSet) != 0;
  return out;
}

}  // namespace pyptx::driver
