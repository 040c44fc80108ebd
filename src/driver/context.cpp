// SPDX-License-Identifier: Apache-2.0
#include "context.h"

#include <mutex>

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

void find_primary(const Driver& driver, int device) {
  const auto index = static_cast<std::size_t>(device);
  unsigned flags = 0;
  int active = 0;
  const auto code = driver.api.primary_state(driver.handles[index], &flags, &active);
  cuda::Context found = nullptr;
  if (code == cuda::kSuccess && active != 0) retain_primary(driver, index, &found);
}

ContextScope::ContextScope(const Driver& driver, int device, Need need)
    : driver_(driver), index_(static_cast<std::size_t>(device)) {
  if (!check("cuCtxGetCurrent", driver.api.context_current(&current_))) return;
  if (current_ != nullptr) {
    if (need == Need::Any || is_primary()) return;
    cuda::Device of = 0;
    if (!check("cuCtxGetDevice", driver.api.context_device(&of))) return;
    if (of == driver.handles[index_]) return;
  }
  push();
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
