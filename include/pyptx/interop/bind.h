// SPDX-License-Identifier: Apache-2.0
//
// Binding a call to a kernel's declaration: which array is which argument, and is it fit. It works
// on descriptions of arrays, the same for every framework, and touches no data. Every refusal names
// the argument, what was expected, what came, and where possible how to mend it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pyptx/diag/diagnostic.h"
#include "pyptx/driver/plan.h"
#include "pyptx/interop/saved.h"
#include "pyptx/interop/signature.h"
#include "pyptx/interop/sizes.h"
#include "pyptx/interop/types.h"

namespace pyptx::interop {

/// What a framework says about one array.
struct Array {
  Shape shape;
  std::string dtype;  // as in pyptx.types, or the framework's where there is no such type
  std::string device = "cpu";
  /// In elements, which a field of a record need not step by whole; none: dense, row-major.
  std::optional<std::vector<double>> strides = {};
  std::uint64_t pointer = 0;
  std::uint64_t bytes = 0;
};

/// What the inputs give to the names of dimensions and types: ArrayCount, ArrayElements, ArrayRank,
/// ArrayShape, ArrayDimension, DimensionTwice, ArrayStrides, ArrayDevice.
diag::Result<Bound> bind_inputs(const Signature& signature, std::span<const Array> arrays,
                                const SizeRules& rules = plain_sizes());

/// Checks arrays to write to, on the device of the inputs, against what these imply, and adds the
/// names that only outputs have: the same, and OutputOverlap.
diag::Status bind_outputs(const Signature& signature, std::span<const Array> arrays, Bound& bound,
                          std::string_view device, const SizeRules& rules = plain_sizes());

/// Refuses in-out tensors and outputs that share memory: OutputOverlap. `arrays` are all of a call.
diag::Status check_written(const Signature& signature, std::span<const Array> arrays);

/// Refuses an array whose address no tensor map can hold: ArrayAlignment.
diag::Status check_mapped(std::string_view kernel, std::string_view argument,
                          std::uint64_t address);

/// Refuses a grid that launches nothing where there are outputs to write: EmptyGrid.
diag::Status check_empty_grid(const Signature& signature, const std::array<std::int64_t, 3>& grid,
                              std::span<const Shape> outputs);

/// What a kernel was bound to: its tensors, and which of them a map is made over.
struct BoundTo {
  std::string_view kernel;
  std::span<const SavedTensor> inputs;
  std::span<const SavedTensor> outputs;
  std::span<const std::uint32_t> mapped = {};
  std::optional<std::string> device = {};  // none: that of the first array
};

/// Refuses what a kernel was not bound to: ArrayCount, ArrayElements, BoundShape, ArrayDevice,
/// ArrayStrides, ArrayAlignment, OutputOverlap. Without `outputs` there are none to check.
diag::Status check_bound(const BoundTo& bound, std::span<const Array> inputs,
                         std::optional<std::span<const Array>> outputs);

}  // namespace pyptx::interop
