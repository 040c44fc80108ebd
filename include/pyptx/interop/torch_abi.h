// SPDX-License-Identifier: Apache-2.0
//
// The plain C functions of torch's stable ABI that operators and calls need, as pointers into the
// libraries that the process has loaded. These are our own declarations of a public ABI
// (torch/csrc/inductor/aoti_torch/c/shim.h, torch/csrc/stable/c/shim.h): no torch header is needed
// to build, and one binary serves every torch from 2.10 on.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "pyptx/diag/diagnostic.h"
#include "pyptx/interop/dlpack.h"

namespace pyptx::interop::torch {

struct TensorObject;
struct ListObject;
struct StringObject;
struct LibraryObject;
/// Objects of torch, which only torch looks into.
using TensorHandle = TensorObject*;
using ListHandle = ListObject*;
using StringHandle = StringObject*;
using LibraryHandle = LibraryObject*;

/// A value on an operator's stack: a number, or one of the handles above.
using StackValue = std::uint64_t;
using BoxedKernel = void (*)(StackValue* stack, std::uint64_t inputs, std::uint64_t outputs);

/// 0 is success; torch prints the reason of a failure itself.
using Error = std::int32_t;

/// The torch whose conventions BoxedKernel follows: 2.10, the first with lists and strings.
inline constexpr std::uint64_t kAbiVersion = (std::uint64_t{2} << 56) | (std::uint64_t{10} << 48);

/// The functions of torch that are called.
struct Abi {
  Error (*library_init_fragment)(const char* ns, const char* file, std::uint32_t line,
                                 LibraryHandle* out);
  Error (*library_init_impl)(const char* ns, const char* key, const char* file, std::uint32_t line,
                             LibraryHandle* out);
  Error (*library_def)(LibraryHandle library, const char* schema);
  Error (*library_impl)(LibraryHandle library, const char* name, BoxedKernel kernel,
                        std::uint64_t abi_version);

  Error (*list_new)(std::size_t capacity, ListHandle* out);
  Error (*list_size)(ListHandle list, std::size_t* out);
  Error (*list_get)(ListHandle list, std::size_t index, StackValue* out);  // a new reference
  Error (*list_push)(ListHandle list, StackValue value);                   // steals it
  Error (*list_delete)(ListHandle list);
  Error (*string_length)(StringHandle string, std::size_t* out);
  Error (*string_bytes)(StringHandle string, const char** out);
  Error (*string_delete)(StringHandle string);

  Error (*tensor_delete)(TensorHandle tensor);
  Error (*data)(TensorHandle tensor, void** out);
  Error (*dim)(TensorHandle tensor, std::int64_t* out);
  Error (*sizes)(TensorHandle tensor, std::int64_t** out);
  Error (*strides)(TensorHandle tensor, std::int64_t** out);
  Error (*dtype)(TensorHandle tensor, std::int32_t* out);
  Error (*storage_size)(TensorHandle tensor, std::int64_t* out);    // in bytes
  Error (*storage_offset)(TensorHandle tensor, std::int64_t* out);  // in elements
  Error (*device_type)(TensorHandle tensor, std::int32_t* out);
  Error (*device_index)(TensorHandle tensor, std::int32_t* out);
  Error (*empty_strided)(std::int64_t ndim, const std::int64_t* sizes, const std::int64_t* strides,
                         std::int32_t dtype, std::int32_t device_type, std::int32_t device_index,
                         TensorHandle* out);
  std::int32_t (*cpu_device_type)();
  std::int32_t (*cuda_device_type)();

  /// Says that a tensor was written: torch::autograd::impl::bump_version(const at::Tensor&), null
  /// where this torch has it no more. A TensorHandle is the address of an at::Tensor.
  void (*bump_version)(const TensorObject& tensor);

  /// Bytes from a tensor's first element to the end of its storage, which somebody may have freed
  /// or shrunk; negative where the element lies behind it.
  Error room(TensorHandle tensor, std::int64_t element_bytes, std::int64_t* out) const;

  using CurrentStream = Error (*)(std::int32_t device_index, void** out);
  /// Of libtorch_cuda, which a program may load after the rest: null while there is none.
  static CurrentStream current_cuda_stream();

  static constexpr std::int32_t kNoDtype = -1;
  /// torch's number for an element type; kNoDtype where this torch has none.
  std::int32_t dtype_of(const dlpack::ElementType& element) const;
  /// The reverse; null for types that no kernel takes.
  const dlpack::ElementType* element_of(std::int32_t dtype) const;

  /// What the loaded torch offers, looked up once; TorchAbi where something is missing.
  static diag::Result<const Abi*> find();

 private:
  const char* fill();
  static constexpr std::size_t kMaxElements = 32;
  std::array<std::int32_t, kMaxElements> dtypes_{};  // in the order of dlpack::element_types()
};

}  // namespace pyptx::interop::torch
