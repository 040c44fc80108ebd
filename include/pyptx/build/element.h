// SPDX-License-Identifier: Apache-2.0
//
// Addresses of elements of a kernel's tensors: 64 bits all the way, whatever the indices have, so
// that no tensor is too large. What is a number while tracing is added up then.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "pyptx/build/operators.h"

namespace pyptx::build {

/// A tensor as its elements are counted.
struct Elements {
  std::string_view tensor;  // the parameter that holds its address
  std::uint32_t bytes = 0;  // of an element
  /// For each dimension: its size, and the elements from one index to the next. Without strides it
  /// is dense, in the order of the dimensions, or against it.
  std::vector<Value> sizes = {};
  std::vector<Value> strides = {};
  bool is_column_major = false;
};

/// [base + offset]
struct ElementAddress {
  Reg base;
  std::int64_t offset = 0;  // fits an address
  bool is_shared = false;   // base is the tensor's own pointer, which others read
};

/// The address of an element: SharedRank, SharedIndex. Indices that are left out are 0.
ElementAddress element_address(Tracer& tracer, const Elements& elements,
                               std::span<const Value> indices);
/// The same in a fresh 64-bit register.
Reg element_pointer(Tracer& tracer, const Elements& elements, std::span<const Value> indices);

}  // namespace pyptx::build
