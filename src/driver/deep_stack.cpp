// SPDX-License-Identifier: Apache-2.0
#include "deep_stack.h"

#include <pthread.h>

#include <cstddef>
#include <exception>

namespace pyptx::driver {
namespace {

constexpr std::size_t kStackBytes = std::size_t{64} << 20;  // reserved; used pages only are real

struct Task {
  const std::function<void()>& work;
  std::exception_ptr thrown;  // a thread cannot let one go: it is the caller's
};

void* call(void* argument) {
  auto* task = static_cast<Task*>(argument);
  try {
    task->work();
  } catch (...) {
    task->thrown = std::current_exception();
  }
  return nullptr;
}

}  // namespace

void on_deep_stack(const std::function<void()>& work) {
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) return work();
  pthread_t thread{};
  Task task{work, nullptr};
  const bool started = pthread_attr_setstacksize(&attributes, kStackBytes) == 0 &&
                       pthread_create(&thread, &attributes, call, &task) == 0;
  pthread_attr_destroy(&attributes);
  if (!started) return work();
  pthread_join(thread, nullptr);
  if (task.thrown) std::rethrow_exception(task.thrown);
}

}  // namespace pyptx::driver
