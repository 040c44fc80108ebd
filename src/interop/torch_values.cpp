// SPDX-License-Identifier: Apache-2.0
//
// Values on an operator's stack (see the header).
#include "torch_values.h"

#include <algorithm>
#include <stdexcept>

#include "pyptx/diag/render.h"

namespace pyptx::interop::torch {

void raise(const diag::Diagnostic& diagnostic, const KernelImage* image) {
  const auto table = image == nullptr ? nullptr : image->locations();
  throw std::runtime_error(diag::render(diagnostic, table.get()));
}

void check(Error error) {
  if (error != 0) raise(diag::Diagnostic(diag::Kind::TorchAbi, {"a function of torch failed"}));
}

List List::with_capacity(const Abi& abi, std::size_t capacity) {
  ListHandle handle = nullptr;
  check(abi.list_new(capacity, &handle));
  return {abi, reinterpret_cast<StackValue>(handle)};
}

void List::push(Tensor tensor) {
  check(abi_.list_push(handle_, reinterpret_cast<StackValue>(tensor.release())));
}

Tensors::Tensors(const Abi& abi, StackValue list) : abi_(abi), list_(abi, list) {
  check(abi.list_size(list_.get(), &size_));
  // A longer list is refused by its length; no image has that many tensors.
  for (; taken_ < std::min(size_, kMaxTensors); ++taken_) {
    StackValue value = 0;
    if (abi.list_get(list_.get(), taken_, &value) != 0) {
      for (std::size_t i = 0; i < taken_; ++i) abi.tensor_delete(handles_[i]);
      raise(diag::Diagnostic(diag::Kind::TorchAbi, {"a list of tensors cannot be read"}));
    }
    handles_[taken_] = reinterpret_cast<TensorHandle>(value);
  }
}

Tensors::~Tensors() {
  for (std::size_t i = 0; i < taken_; ++i) abi_.tensor_delete(handles_[i]);
}

std::string_view String::view() const {
  const char* bytes = nullptr;
  std::size_t length = 0;
  check(abi_.string_bytes(handle_, &bytes));
  check(abi_.string_length(handle_, &length));
  return {bytes, length};
}

}  // namespace pyptx::interop::torch
