// SPDX-License-Identifier: Apache-2.0
//
// What the entry points of the fake driver share: its state, the calling thread's contexts, and how
// a call begins (recorded, failed where a test wants it, refused where the real driver refuses).
#pragma once

#include <vector>

#include "cuda_abi.h"
#include "fake_cuda.h"

namespace pyptx::driver::cuda {
struct ContextTag {
  int device;
};
}  // namespace pyptx::driver::cuda

namespace pyptx::fake {

Cuda& state();

extern thread_local std::vector<driver::cuda::Context> context_stack;
extern thread_local int capture_mode;

/// Records a call; the code it must fail with, or success.
driver::cuda::Code enter(const char* name);
/// The same for calls that a capture in this thread's mode forbids.
driver::cuda::Code enter_unsafe(const char* name);
driver::cuda::Code need_context();

}  // namespace pyptx::fake

// In an entry point.
#define ENTER(name)                                                       \
  if (const pyptx::driver::cuda::Code entered = pyptx::fake::enter(name); \
      entered != pyptx::driver::cuda::kSuccess)                           \
  return entered
#define ENTER_UNSAFE(name)                                                       \
  if (const pyptx::driver::cuda::Code entered = pyptx::fake::enter_unsafe(name); \
      entered != pyptx::driver::cuda::kSuccess)                                  \
  return entered
#define NEED_CONTEXT()                                                       \
  if (const pyptx::driver::cuda::Code missing = pyptx::fake::need_context(); \
      missing != pyptx::driver::cuda::kSuccess)                              \
  return missing
