// SPDX-License-Identifier: Apache-2.0
//
// Symbols of the loaded torch (see the header).
#include "pyptx/interop/torch_shim.h"

#include <dlfcn.h>

namespace pyptx::interop {
namespace {

void* symbol(const char* library, const char* name) {
  // RTLD_NOLOAD: only a library that torch has loaded. The handle is kept, as torch keeps its own.
  void* handle = dlopen(library, RTLD_LAZY | RTLD_NOLOAD);
  return handle == nullptr ? nullptr : dlsym(handle, name);
}

}  // namespace

TorchShim TorchShim::find() {
  TorchShim shim;
  shim.grad_mode_enabled =
      reinterpret_cast<bool (*)()>(symbol("libtorch_cpu.so", "aoti_torch_grad_mode_is_enabled"));
  // C++ functions without parameters: c10::impl::TorchDispatchModeTLS::stack_len() and
  // at::impl::PythonTorchFunctionTLS::stack_len().
  shim.dispatch_modes = reinterpret_cast<std::int64_t (*)()>(
      symbol("libc10.so", "_ZN3c104impl20TorchDispatchModeTLS9stack_lenEv"));
  shim.function_modes = reinterpret_cast<std::int64_t (*)()>(
      symbol("libtorch_cpu.so", "_ZN2at4impl22PythonTorchFunctionTLS9stack_lenEv"));
  return shim;
}

}  // namespace pyptx::interop
