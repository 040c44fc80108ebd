// SPDX-License-Identifier: Apache-2.0
//
// Symbols of torch's stable ABI (see the header).
#include "pyptx/interop/torch_abi.h"

#include <dlfcn.h>

#include <atomic>
#include <mutex>
#include <string>

namespace pyptx::interop::torch {
namespace {

void* find_symbol(const char* library, const char* name) {
  // RTLD_NOLOAD: only a library that torch has loaded. The handle is kept, as torch keeps its own.
  void* handle = dlopen(library, RTLD_LAZY | RTLD_NOLOAD);
  // A program may have torch's objects linked into itself.
  return dlsym(handle != nullptr ? handle : RTLD_DEFAULT, name);
}

template <typename Function>
bool take(Function& out, const char* name, const char* library = "libtorch_cpu.so") {
  out = reinterpret_cast<Function>(find_symbol(library, name));
  return out != nullptr;
}

/// The number of a dtype, by the function that has its name; newer ones lost the first word.
std::int32_t dtype_number(const dlpack::ElementType& element) {
  std::int32_t (*number)() = nullptr;
  const std::string name(element.torch);
  if (take(number, ("aoti_torch_dtype_" + name).c_str())) return number();
  if (take(number, ("torch_dtype_" + name).c_str())) return number();
  return Abi::kNoDtype;
}

}  // namespace

/// The name of the first symbol that is missing, or null.
const char* Abi::fill() {
#define PYPTX_TAKE(member, name) \
  if (!take(member, name)) return name
  PYPTX_TAKE(library_init_fragment, "aoti_torch_library_init_fragment");
  PYPTX_TAKE(library_init_impl, "aoti_torch_library_init_impl");
  PYPTX_TAKE(library_def, "aoti_torch_library_def");
  PYPTX_TAKE(library_impl, "torch_library_impl");
  PYPTX_TAKE(list_new, "torch_new_list_reserve_size");
  PYPTX_TAKE(list_size, "torch_list_size");
  PYPTX_TAKE(list_get, "torch_list_get_item");
  PYPTX_TAKE(list_push, "torch_list_push_back");
  PYPTX_TAKE(list_delete, "torch_delete_list");
  PYPTX_TAKE(string_length, "torch_string_length");
  PYPTX_TAKE(string_bytes, "torch_string_c_str");
  PYPTX_TAKE(string_delete, "torch_delete_string");
  PYPTX_TAKE(tensor_delete, "aoti_torch_delete_tensor_object");
  PYPTX_TAKE(data, "aoti_torch_get_data_ptr");
  PYPTX_TAKE(dim, "aoti_torch_get_dim");
  PYPTX_TAKE(sizes, "aoti_torch_get_sizes");
  PYPTX_TAKE(strides, "aoti_torch_get_strides");
  PYPTX_TAKE(dtype, "aoti_torch_get_dtype");
  PYPTX_TAKE(storage_size, "aoti_torch_get_storage_size");
  PYPTX_TAKE(storage_offset, "aoti_torch_get_storage_offset");
  PYPTX_TAKE(device_type, "aoti_torch_get_device_type");
  PYPTX_TAKE(device_index, "aoti_torch_get_device_index");
  PYPTX_TAKE(empty_strided, "aoti_torch_empty_strided");
  PYPTX_TAKE(cpu_device_type, "aoti_torch_device_type_cpu");
  PYPTX_TAKE(cuda_device_type, "aoti_torch_device_type_cuda");
#undef PYPTX_TAKE
  take(bump_version, "_ZN5torch8autograd4impl12bump_versionERKN2at6TensorE");
  const auto elements = dlpack::element_types();
  for (std::size_t i = 0; i < elements.size(); ++i) dtypes_[i] = dtype_number(elements[i]);
  return nullptr;
}

Error Abi::room(TensorHandle tensor, std::int64_t element_bytes, std::int64_t* out) const {
  std::int64_t size = 0;
  std::int64_t offset = 0;
  const Error error = storage_size(tensor, &size) | storage_offset(tensor, &offset);
  *out = size - offset * element_bytes;
  return error;
}

Abi::CurrentStream Abi::current_cuda_stream() {
  static std::atomic<CurrentStream> known{nullptr};
  CurrentStream function = known.load(std::memory_order_relaxed);
  if (function == nullptr &&
      take(function, "aoti_torch_get_current_cuda_stream", "libtorch_cuda.so")) {
    known.store(function, std::memory_order_relaxed);
  }
  return function;
}

std::int32_t Abi::dtype_of(const dlpack::ElementType& element) const {
  return dtypes_[static_cast<std::size_t>(&element - dlpack::element_types().data())];
}

const dlpack::ElementType* Abi::element_of(std::int32_t number) const {
  const auto elements = dlpack::element_types();
  for (std::size_t i = 0; i < elements.size(); ++i) {
    if (dtypes_[i] == number && number != kNoDtype) return &elements[i];
  }
  return nullptr;
}

diag::Result<const Abi*> Abi::find() {
  static std::mutex mutex;
  static const Abi* known = nullptr;
  const std::lock_guard lock(mutex);
  if (known == nullptr) {
    static Abi abi{};
    if (const char* missing = abi.fill()) {
      return diag::fail(diag::Kind::TorchAbi, {std::string("no loaded library has ") + missing});
    }
    known = &abi;
  }
  return known;
}

}  // namespace pyptx::interop::torch
