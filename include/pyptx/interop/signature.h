// SPDX-License-Identifier: Apache-2.0
//
// What a kernel declares: its tensors, each behind a tile, inputs before outputs, and the raw
// parameters that follow them. A signature belongs to no call; what a call settles of it are facts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pyptx/diag/diagnostic.h"
#include "pyptx/interop/sizes.h"
#include "pyptx/interop/tile.h"
#include "pyptx/interop/types.h"

namespace pyptx::interop {

/// A tensor of a kernel.
struct Argument {
  std::string name;
  Tile tile;
};

/// A scalar of a kernel, by the name of its type: {"f32", "alpha"}.
struct RawParameter {
  std::string type;
  std::string name;
};

/// A dimension all of whose sizes are multiples of a number.
struct Multiple {
  std::string dimension;
  std::int64_t of = 1;
};

/// Shape and element type of every tensor, inputs before outputs, and the strides of those whose
/// tile leaves them to the launch. Empty strides, or none at all: it is dense.
struct Facts {
  std::vector<Shape> shapes;
  std::vector<std::string> dtypes;
  std::vector<Shape> strides = {};
};

/// The declaration of a kernel.
struct Signature {
  std::string kernel = {};
  std::vector<Argument> inputs = {};
  std::vector<Argument> outputs = {};
  /// So many of the inputs, the last ones, are in-out: the kernel writes them, too.
  std::size_t inouts = 0;
  std::vector<RawParameter> scalars = {};
  /// What every element of the outputs holds when the kernel begins, "0" or "-inf"; empty: nothing.
  std::string out_init = {};
  /// The dimension whose parts are independent; empty: there is none.
  std::string batch = {};
  std::vector<Multiple> multiples = {};

  std::size_t tensor_count() const { return inputs.size() + outputs.size(); }
  /// By index over inputs, then outputs.
  const Argument& tensor(std::size_t index) const {
    return index < inputs.size() ? inputs[index] : outputs[index - inputs.size()];
  }
  std::optional<std::uint32_t> index_of(std::string_view tensor) const;
  /// The first tensor that the kernel writes. One without outputs and in-out tensors writes all.
  std::size_t first_written() const {
    return outputs.empty() && inouts == 0 ? 0 : inputs.size() - inouts;
  }
  /// "kernel 'scale'", which is how messages begin.
  std::string title() const;

  /// The type of a named type's elements: KeywordName where nothing gives it.
  diag::Result<std::string> type_of(std::size_t index, const Types& types) const;

  /// Why no call could be made of it: DeclarationType, DeclarationValue.
  diag::Status check() const;
  /// The shapes of the outputs, from the values of dimensions: UnknownSize.
  diag::Result<std::vector<Shape>> output_shapes(const Sizes& sizes) const;
  /// Their element types, from those of names: KeywordName.
  diag::Result<std::vector<std::string>> output_types(const Types& types) const;
  /// Of a dense tensor that its tile describes: UnknownSize, DeclarationType, KeywordName.
  diag::Result<std::pair<Shape, std::string>> fact(std::size_t index, const Bound& bound) const;
  /// Of all of them.
  diag::Result<Facts> facts(const Sizes& sizes = {}, const Types& types = {}) const;
  /// The map over a tensor of these facts: ArrayMap.
  diag::Result<layout::TensorMap> map(std::size_t tensor, const Facts& facts) const;
};

/// The bits of a number, as text, in elements of that type; nothing where it has no such value.
std::optional<std::uint64_t> fill_bits(std::string_view dtype, std::string_view value);

}  // namespace pyptx::interop
