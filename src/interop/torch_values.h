// SPDX-License-Identifier: Apache-2.0
//
// Owners of the values on an operator's stack. torch hands over a new reference to each, also to
// each tensor of a list, and takes the results the same way.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>
#include <utility>

#include "pyptx/diag/diagnostic.h"
#include "pyptx/interop/image.h"
#include "pyptx/interop/torch_abi.h"

namespace pyptx::interop::torch {

/// Tensors of one list, and of one call.
using driver::kMaxTensors;

/// Throws what torch turns into the caller's exception. Places are those of `image`.
[[noreturn]] void raise(const diag::Diagnostic& diagnostic, const KernelImage* image = nullptr);
/// Fails where a function of torch did; torch has printed why.
void check(Error error);

class Tensor {
 public:
  Tensor(const Abi& abi, TensorHandle handle) : abi_(&abi), handle_(handle) {}
  Tensor(Tensor&& other) noexcept
      : abi_(other.abi_), handle_(std::exchange(other.handle_, nullptr)) {}
  Tensor& operator=(Tensor&&) = delete;
  Tensor(const Tensor&) = delete;
  Tensor& operator=(const Tensor&) = delete;
  ~Tensor() {
    if (handle_ != nullptr) abi_->tensor_delete(handle_);
  }
  TensorHandle get() const { return handle_; }
  TensorHandle release() { return std::exchange(handle_, nullptr); }

 private:
  const Abi* abi_;
  TensorHandle handle_;
};

class List {
 public:
  List(const Abi& abi, StackValue value)
      : abi_(abi), handle_(reinterpret_cast<ListHandle>(value)) {}
  static List with_capacity(const Abi& abi, std::size_t capacity);
  List(const List&) = delete;
  List& operator=(const List&) = delete;
  ~List() {
    if (handle_ != nullptr) abi_.list_delete(handle_);
  }
  ListHandle get() const { return handle_; }
  void push(Tensor tensor);
  StackValue release() { return reinterpret_cast<StackValue>(std::exchange(handle_, nullptr)); }

 private:
  const Abi& abi_;
  ListHandle handle_;
};

/// The tensors of a list on the stack.
class Tensors {
 public:
  Tensors(const Abi& abi, StackValue list);
  Tensors(const Tensors&) = delete;
  Tensors& operator=(const Tensors&) = delete;
  ~Tensors();
  std::size_t size() const { return size_; }
  TensorHandle operator[](std::size_t index) const { return handles_[index]; }

 private:
  const Abi& abi_;
  List list_;
  std::size_t size_ = 0;
  std::size_t taken_ = 0;
  std::array<TensorHandle, kMaxTensors> handles_;
};

class String {
 public:
  String(const Abi& abi, StackValue value)
      : abi_(abi), handle_(reinterpret_cast<StringHandle>(value)) {}
  String(const String&) = delete;
  String& operator=(const String&) = delete;
  ~String() { abi_.string_delete(handle_); }
  std::string_view view() const;

 private:
  const Abi& abi_;
  StringHandle handle_;
};

}  // namespace pyptx::interop::torch
