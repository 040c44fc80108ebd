// SPDX-License-Identifier: Apache-2.0
#include "context.h"

#include <mutex>

#include "pyptx/support/concat.h"

namespace pyptx::driver {
namespace {

/// The device's primary context. One reference per device is kept for the life of the process,
/// whoever comes first.
cuda::Code retain_primary(const Driver& driver, std::size_t index, cuda::Context* out) {
  std::atomic<cuda::Context>& known = driver.primary[index];
  *out = known.load(std::memory_order_acquire);
  if (*out != nullptr) return cuda::kSuccess;
  static std::mutex mutex;
  const std::scoped_lock lock(mutex);
  *out = known.load(std::memory_order_relaxed);
  if (*out != nullptr) return cuda::kSuccess;
  const RelaxedCapture relaxed(driver.api);
  const cuda::Code code = driver.api.primary_retain(out, driver.handles[index]);
  if (code == cuda::kSuccess) known.store(*out, std::memory_order_release);
  return code;
}

}  // namespace

cuda::Context find_primary(const Driver& driver, int device) {
  const auto index = static_cast<std::size_t>(device);
  cuda::Context found = driver.primary[index].load(std::memory_order_acquire);
  if (found != nullptr) return found;
  unsigned flags = 0;
  int active = 0;
  const auto code = driver.api.primary_state(driver.handles[index], &flags, &active);
  if (code == cuda::kSuccess && active != 0) retain_primary(driver, index, &found);
  return found;
}

diag::Result<cuda::Context> context_of(const Driver& driver, void* stream) {
  cuda::Context out = nullptr;
  if (cuda::is_named(stream)) {
    const cuda::Code code = driver.api.context_current(&out);
    if (code != cuda::kSuccess) return diag::fail(cuda_error(driver.api, "cuCtxGetCurrent", code));
    return out;
  }
  const cuda::Code code = driver.api.stream_context(static_cast<cuda::Stream>(stream), &out);
  if (code != cuda::kSuccess) return diag::fail(cuda_error(driver.api, "cuStreamGetCtx", code));
  return out;
}

diag::Result<int> device_of(const Driver& driver, cuda::Context context) {
  for (std::size_t i = 0; i < driver.handles.size(); ++i) {
    if (driver.primary[i].load(std::memory_order_acquire) == context) return static_cast<int>(i);
  }
  // The driver tells it of the current context alone.
  if (const cuda::Code code = driver.api.context_push(context); code != cuda::kSuccess) {
    return diag::fail(cuda_error(driver.api, "cuCtxPushCurrent", code));
  }
  cuda::Device handle = 0;
  const cuda::Code code = driver.api.context_device(&handle);
  cuda::Context popped = nullptr;
  driver.api.context_pop(&popped);
  if (code != cuda::kSuccess) return diag::fail(cuda_error(driver.api, "cuCtxGetDevice", code));
  if (const auto found = driver.ordinal(handle)) return *found;
  return diag::fail(diag::Kind::NoSuchDevice,
                    {support::concat(handle), support::concat(driver.handles.size())});
}

ContextScope::ContextScope(const Driver& driver, int device, Need need)
    : driver_(driver), index_(static_cast<std::size_t>(device)) {
  if (!check("cuCtxGetCurrent", driver.api.context_current(&current_))) return;
  if (current_ != nullptr) {
    if (need == Need::Any || is_primary()) return;
    cuda::Device of = 0;
    if (need == Need::OfDevice) {
      if (!check("cuCtxGetDevice", driver.api.context_device(&of))) return;
      if (of == driver.handles[index_]) return;
    }
  }
  push();
}

ContextScope::ContextScope(const Driver& driver, cuda::Context context, int device)
    : driver_(driver), index_(static_cast<std::size_t>(device)), current_(context) {
  if (current_ == nullptr) {
    push();
  } else {
    pushed_ = check("cuCtxPushCurrent", driver_.api.context_push(current_));
  }
}

void ContextScope::push() {
  if (!check("cuDevicePrimaryCtxRetain", retain_primary(driver_, index_, &current_))) return;
  pushed_ = check("cuCtxPushCurrent", driver_.api.context_push(current_));
}

ContextScope::~ContextScope() {
  cuda::Context popped = nullptr;
  if (pushed_) driver_.api.context_pop(&popped);
}

}  // namespace pyptx::driver
