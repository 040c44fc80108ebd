// SPDX-License-Identifier: Apache-2.0
//
// libpyptx_torch: pyptx's torch operators for programs without Python. Loading the library into a
// program that is linked with libtorch registers them; whoever loads it first asks again.
#include <string>

#include "pyptx/diag/render.h"
#include "pyptx/interop/torch_op.h"

extern "C" __attribute__((visibility("default"))) const char* pyptx_torch_register(void);

/// Registers pyptx::launch, launch_one and launch_out with the torch that the process has loaded,
/// once. Returns null, or why they could not be registered.
const char* pyptx_torch_register(void) {
  thread_local std::string reason;
  const auto registered = pyptx::interop::register_torch_operators(/*define=*/true);
  if (registered) return nullptr;
  reason = pyptx::diag::render(registered.error(), nullptr);
  return reason.c_str();
}

namespace {

__attribute__((constructor)) void register_when_loaded() {
  static_cast<void>(pyptx_torch_register());
}

}  // namespace
