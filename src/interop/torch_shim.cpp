// SPDX-License-Identifier: Apache-2.0
//
// Symbols of the loaded torch (see the header).
#include "pyptx/interop/torch_shim.h"

#include <dlfcn.h>

#include <string>

namespace pyptx::interop {
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

  resolve(cpu, "aoti_torch_get_data_ptr", shim.data_ptr);
  resolve(cpu, "aoti_torch_get_dim", shim.dim);
  resolve(cpu, "aoti_torch_get_sizes", shim.sizes);
  resolve(cpu, "aoti_torch_get_strides", shim.strides);
  resolve(cpu, "aoti_torch_get_dtype", shim.dtype);
  resolve(cpu, "aoti_torch_get_device_index", shim.device_index);
  // c10::TensorImpl::requires_grad() const
  resolve(c10, "_ZNK3c1010TensorImpl13requires_gradEv", shim.requires_grad);
  // torch::autograd::impl::bump_version(at::Tensor const&)
  resolve(cpu, "_ZN5torch8autograd4impl12bump_versionERKN2at6TensorE", shim.bump_version);

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
  resolve(cuda, "aoti_torch_get_current_cuda_stream", current_cuda_stream);
  // at::detail::empty_cuda(c10::ArrayRef<long>, c10::ScalarType, optional<c10::Device>,
  // optional<MemoryFormat>)
  resolve(
      cuda,
      "_ZN2at6detail10empty_cudaEN3c108ArrayRefIlEENS1_10ScalarTypeESt8optionalINS1_6DeviceEES5_"
      "INS1_12MemoryFormatEE",
      empty_cuda);
}

bool TorchShim::can_read() const {
  return data_ptr != nullptr && dim != nullptr && sizes != nullptr && strides != nullptr &&
         dtype != nullptr && device_index != nullptr && requires_grad != nullptr;
}

std::int32_t TorchShim::dtype_number(const char* name) {
  std::int32_t (*number)() = nullptr;
  resolve(loaded("libtorch_cpu.so"), (std::string("aoti_torch_dtype_") + name).c_str(), number);
  return number == nullptr ? -1 : number();
}

}  // namespace pyptx::interop
