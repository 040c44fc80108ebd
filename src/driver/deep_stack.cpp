// SPDX-License-Identifier: Apache-2.0
#include "deep_stack.h"

#include <pthread.h>

#include <cstddef>

namespace pyptx::driver {
namespace {

constexpr std::size_t kStackBytes = std::size_t{64} << 20;  // reserved; used pages only are real

void* call(void* work) {
  (*static_cast<const std::function<void()>*>(work))();
  return nullptr;
}

}  // namespace

void on_deep_stack(const std::function<void()>& work) {
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) return work();
  pthread_t thread{};
  const bool started = pthread_attr_setstacksize(&attributes, kStackBytes) == 0 &&
                       pthread_create(&thread, &attributes, call,
                                      const_cast<void*>(static_cast<const void*>(&work))) == 0;
  pthread_attr_destroy(&attributes);
  if (!started) return work();
  pthread_join(thread, nullptr);
}

}  // namespace pyptx::driver
