// SPDX-License-Identifier: Apache-2.0
//
// Elements of tensors by their indices, of pyptx::ptx: addresses of 64 bits whatever the indices
// have. See pyptx/build/element.h.
#pragma once

#include <initializer_list>
#include <source_location>
#include <string>
#include <vector>

#include "pyptx/author/kernel.h"
#include "pyptx/author/operand.h"
#include "pyptx/build/element.h"

namespace pyptx {

/// A tensor, and how its elements are counted. A size or stride is a number or a register.
class Shaped {
 public:
  struct Options {
    /// In elements, for each dimension; none: the tensor is dense.
    std::vector<build::Value> strides = {};
    bool is_column_major = false;  // of a dense one: the first dimension is the contiguous one
  };

  /// As the tensor's kernel declares it: TensorFact where it does not.
  Shaped(const Tensor& tensor,  // NOLINT(*-explicit-*)
         std::source_location where = std::source_location::current());
  Shaped(const Tensor& tensor, isa::Type type, std::initializer_list<author::Right> sizes)
      : Shaped(tensor, type, sizes, Options()) {}
  Shaped(const Tensor& tensor, isa::Type type, std::initializer_list<author::Right> sizes,
         Options options);

  const std::string& name() const { return name_; }
  build::Elements elements() const;

 private:
  std::string name_;
  std::uint32_t bytes_;
  std::vector<build::Value> sizes_;
  Options options_;
};

namespace ptx {

/// The place of an element, as an address of ld and st. Indices left out are 0.
Address at(const Shaped& tensor, std::initializer_list<author::Right> indices,
           std::source_location where = std::source_location::current());
/// The same address in a fresh 64-bit register.
Reg ptr(const Shaped& tensor, std::initializer_list<author::Right> indices,
        std::source_location where = std::source_location::current());

}  // namespace ptx
}  // namespace pyptx
