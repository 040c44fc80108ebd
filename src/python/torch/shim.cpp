// SPDX-License-Identifier: Apache-2.0
//
// Symbols of the loaded torch (see the header).
#include "torch/shim.h"

#include <dlfcn.h>

namespace pyptx::python {
namespace {

/// A library that torch has loaded, or null. The handle is kept, as torch keeps its own.
void* loaded(const char* library) { return dlopen(library, RTLD_LAZY | RTLD_NOLOAD); }

template <typename Function>
void resolve(void* library, const char* name, Function& out) {
  out = library == nullptr ? nullptr : reinterpret_cast<Function>(dlsym(library, name));
}

}  // namespace

TorchShim TorchShim::find() {
  TorchShim shim;
  void* c10 = loaded("libc10.so");
  void* cpu = loaded("libtorch_cpu.so");
  void* python = loaded("libtorch_python.so");
  resolve(cpu, "aoti_torch_grad_mode_is_enabled", shim.grad_mode_enabled);
  // c10::impl::TorchDispatchModeTLS::stack_len(), at::impl::PythonTorchFunctionTLS::stack_len()
  resolve(c10, "_ZN3c104impl20TorchDispatchModeTLS9stack_lenEv", shim.dispatch_modes);
  resolve(cpu, "_ZN2at4impl22PythonTorchFunctionTLS9stack_lenEv", shim.function_modes);
  // torch::jit::tracer::getTracingState(), a std::shared_ptr whose first word is the pointer
  resolve(cpu, "_ZN5torch3jit6tracer15getTracingStateEv", shim.tracing_state);
  // at::hasThreadLocalCallbacks(); the question for all threads takes a lock
  resolve(cpu, "_ZN2at23hasThreadLocalCallbacksEv", shim.has_callbacks);
  // at::autocast::is_autocast_enabled(c10::DeviceType)
  resolve(cpu, "_ZN2at8autocast19is_autocast_enabledEN3c1010DeviceTypeE", shim.is_autocast_enabled);

  // c10::TensorImpl::requires_grad() const
  resolve(c10, "_ZNK3c1010TensorImpl13requires_gradEv", shim.requires_grad);

  // at::detail::empty_cpu(c10::ArrayRef<long>, c10::ScalarType, bool, optional<MemoryFormat>)
  resolve(cpu,
          "_ZN2at6detail9empty_cpuEN3c108ArrayRefIlEENS1_10ScalarTypeEbSt8optionalINS1_"
          "12MemoryFormatEE",
          shim.empty_cpu);
  // THPVariable_Wrap(at::TensorBase&&)
  resolve(python, "_Z16THPVariable_WrapON2at10TensorBaseE", shim.wrap);
  shim.find_cuda();
  return shim;
}

void TorchShim::find_cuda() {
  void* cuda = loaded("libtorch_cuda.so");
  // at::detail::empty_cuda(c10::ArrayRef<long>, c10::ScalarType, optional<c10::Device>,
  // optional<MemoryFormat>)
  resolve(
      cuda,
      "_ZN2at6detail10empty_cudaEN3c108ArrayRefIlEENS1_10ScalarTypeESt8optionalINS1_6DeviceEES5_"
      "INS1_12MemoryFormatEE",
      empty_cuda);
}

}  // namespace pyptx::python
