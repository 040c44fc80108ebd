// SPDX-License-Identifier: Apache-2.0
#include "context.h"

#include <mutex>

namespace pyptx::driver {

ContextScope::ContextScope(const Driver& driver, int device, Need need) : driver_(driver) {
  cuda::Context current = nullptr;
  if (!check("cuCtxGetCurrent", driver.api.context_current(&current))) return;
  if (current != nullptr) {
    if (need == Need::Any) return;
    const auto index = static_cast<std::size_t>(device);
    if (current == driver.primary[index].load(std::memory_order_acquire)) return;
    cuda::Device of = 0;
    if (!check("cuCtxGetDevice", driver.api.context_device(&of))) return;
    if (of == driver.handles[index]) return;
  }
  push(device);
}

void ContextScope::push(int device) {
  const auto index = static_cast<std::size_t>(device);
  cuda::Context primary = driver_.primary[index].load(std::memory_order_acquire);
  if (primary == nullptr) {
    // One reference per device for the life of the process, whoever comes first.
    static std::mutex mutex;
    const std::scoped_lock lock(mutex);
    primary = driver_.primary[index].load(std::memory_order_relaxed);
    if (primary == nullptr) {
      const RelaxedCapture relaxed(driver_.api);
      if (!check("cuDevicePrimaryCtxRetain",
                 driver_.api.primary_retain(&primary, driver_.handles[index]))) {
        return;
      }
      driver_.primary[index].store(primary, std::memory_order_release);
    }
  }
  pushed_ = check("cuCtxPushCurrent", driver_.api.context_push(primary));
}

ContextScope::~ContextScope() {
  cuda::Context popped = nullptr;
  if (pushed_) driver_.api.context_pop(&popped);
}

}  // namespace pyptx::driver
