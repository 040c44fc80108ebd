// SPDX-License-Identifier: Apache-2.0
//
// A kernel for any size: a text that takes sizes at the launch, what it declares, and a launch
// whose grid and size parameters follow from sizes. It holds no function of anybody's, so it is
// saved and carried as a SavedKernel is, and becomes one for the sizes that are met.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "pyptx/diag/diagnostic.h"
#include "pyptx/interop/compose.h"
#include "pyptx/interop/saved.h"
#include "pyptx/interop/signature.h"
#include "pyptx/interop/size_expression.h"

namespace pyptx::interop {

/// The value of a raw parameter: it follows from sizes, or is the same in every launch, or comes
/// with each one.
struct OpenScalar {
  std::optional<SizeExpression> size = {};
  std::optional<std::uint64_t> bits = {};  // of what comes with each launch: its default
  bool is_fixed = false;
  bool operator==(const OpenScalar&) const = default;
};

/// How a module is launched, for any size. As KernelLaunch.
struct OpenLaunch {
  std::array<SizeExpression, 3> grid = {1, 1, 1};
  driver::Dim3 block = {};
  driver::Dim3 cluster = {};
  std::uint32_t dynamic_shared = 0;
  std::vector<OpenScalar> scalars = {};  // one for each raw parameter of the signature
  std::vector<std::string> maps = {};    // tensors, in the order of Traced::map_tensors
  bool maps_by_value = false;
  bool is_programmatic = false;
};

/// A kernel for any size, to be saved, carried, and made one for sizes.
struct OpenKernel {
  TracedText text;
  /// Its dimensions are numbers or open; its element types are types.
  Signature signature;
  OpenLaunch launch = {};
  std::vector<SavedKernel::Binary> binaries = {};

  /// The kernel for these sizes of the open dimensions: UnknownSize, ArrayMultiple, SizeExpression,
  /// EmptyGrid, and what compose refuses.
  diag::Result<SavedKernel> at(const Sizes& sizes) const;
  /// The kernel for inputs of these shapes. Sizes that only outputs have come from those, where
  /// they are given: also what bind_inputs and bind_outputs refuse of shapes.
  diag::Result<SavedKernel> at(std::span<const Shape> inputs,
                               std::optional<std::span<const Shape>> outputs = {}) const;

  /// As those of a SavedKernel.
  diag::Result<std::string> add_binary(const std::string& target,
                                       std::vector<std::string> flags = {});
  diag::Result<std::string> to_bytes() const;
  static diag::Result<OpenKernel> from_bytes(std::string_view bytes);
  diag::Status save(const std::string& path) const;
  static diag::Result<OpenKernel> load(const std::string& path);

  /// Whether these are the bytes of such a kernel, by their first words.
  static bool has_bytes(std::string_view bytes);

 private:
  diag::Result<SavedKernel> settled(const Sizes& sizes) const;
  diag::Result<KernelLaunch> launch_of(const Sizes& sizes) const;
};

/// What a file holds.
diag::Result<std::variant<SavedKernel, OpenKernel>> load_any(const std::string& path);

}  // namespace pyptx::interop
