// SPDX-License-Identifier: Apache-2.0
//
// Checks of a call's arrays (see the header).
#include "pyptx/interop/bind.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "pyptx/interop/strides.h"
#include "pyptx/support/concat.h"

namespace pyptx::interop {
namespace {

using diag::Kind;
using support::concat;

/// Who is spoken of; put into words only where something is refused.
struct Subject {
  std::string_view kind;  // "kernel"
  std::string_view kernel;
  std::string_view role;  // "argument" or "output"
  std::string_view name;
  std::string text() const { return concat(kind, " '", kernel, "': ", role, " '", name, "'"); }
};

std::string hexadecimal(std::uint64_t number) {
  char digits[24];
  const int length =
      std::snprintf(digits, sizeof(digits), "%#llx", static_cast<unsigned long long>(number));
  return {digits, static_cast<std::size_t>(length)};
}

std::string strides_text(std::span<const double> strides) {
  std::vector<std::string> parts;
  for (const double stride : strides) {
    char digits[32];
    const int length = std::snprintf(digits, sizeof(digits), "%.12g", stride);
    parts.emplace_back(digits, static_cast<std::size_t>(length));
  }
  return tuple_text(parts);
}

/// "takes 2 inputs (X, Y)".
template <typename Tensors>
std::string counted(std::string_view verb, const Tensors& tensors, std::string_view what) {
  std::string names;
  for (const auto& tensor : tensors) names += concat(names.empty() ? "" : ", ", tensor.name);
  return concat(verb, " ", tensors.size(), " ", what, tensors.size() == 1 ? "" : "s", " (", names,
                ")");
}

/// Refuses what is not dense in the order that the kernel reads.
diag::Status check_strides(const Subject& subject, bool is_column, const Array& array) {
  if (!array.strides || std::ranges::count(array.shape, 0) != 0) return diag::success();
  const std::size_t rank = array.shape.size();
  double expected = 1;
  for (std::size_t i = 0; i < rank; ++i) {
    const std::size_t axis = is_column ? i : rank - 1 - i;
    if (array.shape[axis] != 1 && (*array.strides)[axis] != expected) {
      const bool is_output = subject.role == "output";
      return diag::fail(
          Kind::ArrayStrides,
          {subject.text(), strides_text(*array.strides), plain_sizes().text(array.shape),
           is_column ? "column-major (Layout.COL)" : "contiguous",
           is_column   ? "x.mT.contiguous().mT gives such a tensor"
           : is_output ? "pass such a one, or drop out="
                       : "call .contiguous() on it (NumPy: np.ascontiguousarray)"});
    }
    expected *= static_cast<double>(array.shape[axis]);
  }
  return diag::success();
}

/// The same where rows may lie apart. Elements that are written lie in places of their own.
diag::Status check_rows(const Subject& subject, const Array& array, bool is_written) {
  if (!array.strides || std::ranges::count(array.shape, 0) != 0) return diag::success();
  const auto refuse = [&](const char* fix) {
    return diag::fail(Kind::ArrayStrides,
                      {subject.text(), strides_text(*array.strides),
                       plain_sizes().text(array.shape), "row-wise contiguous", fix});
  };
  for (std::size_t axis = 0; axis < array.shape.size(); ++axis) {
    const double stride = (*array.strides)[axis];
    const bool is_last = axis + 1 == array.shape.size();
    if (array.shape[axis] == 1 ||
        (is_last ? stride == 1 : stride >= 0 && stride == std::floor(stride))) {
      continue;
    }
    return refuse("call .contiguous() on it (NumPy: np.ascontiguousarray)");
  }
  const Shape strides(array.strides->begin(), array.strides->end());
  if (is_written && !are_distinct(array.shape, strides)) {
    return refuse("its elements share memory, so it cannot be written: pass one of its own");
  }
  return diag::success();
}

ByteRows rows_of(const Array& array) {
  const std::uint64_t bits = element_bits(array.dtype);
  if (!array.strides || bits % 8 != 0) return ByteRows::dense(array.bytes);
  const Shape strides(array.strides->begin(), array.strides->end());
  return ByteRows::of(array.shape, strides, bits / 8);
}

/// Refuses tensors that share memory, from the one at `first` on.
template <typename Tensors>
diag::Status check_overlap(std::string_view kernel, const Tensors& tensors,
                           std::span<const Array> arrays, std::size_t first = 0) {
  for (std::size_t i = first + 1; i < arrays.size(); ++i) {
    for (std::size_t j = first; j < i; ++j) {
      if (!share_memory(arrays[j].pointer, rows_of(arrays[j]), arrays[i].pointer,
                        rows_of(arrays[i]))) {
        continue;
      }
      return diag::fail(Kind::OutputOverlap,
                        {concat("kernel '", kernel, "'"), tensors[j].name, tensors[i].name});
    }
  }
  return diag::success();
}

/// One side of a call, inputs or outputs, against the declaration.
class Side {
 public:
  Side(const Signature& signature, std::span<const Argument> arguments, std::string_view role,
       Bound& bound, const SizeRules& rules)
      : signature_(signature),
        arguments_(arguments),
        role_(role),
        sizes_(bound.sizes),
        types_(bound.types),
        known_(sizes_.count()),
        known_types_(types_.count()),
        rules_(rules) {}

  diag::Status check(std::size_t index, const Array& array) {
    const Tile& tile = arguments_[index].tile;
    if (auto status = check_elements(index, array); !status) return status;
    auto found = tile.sizes(array.shape, rules_);
    if (!found) {
      found.error()->arguments[0] = subject(index).text();
      return found.failure();
    }
    for (const auto& [name, size] : *found) {
      if (auto status = check_multiple(index, array, name, size); !status) return status;
      const auto known = sizes_.find(name);
      if (!known) {
        sizes_.add(name, size);
      } else if (!rules_.same(*known, size)) {
        return diag::fail(Kind::ArrayDimension,
                          {subject(index).text(), rules_.text(array.shape), name, rules_.text(size),
                           size_owner(name, index), rules_.text(*known)});
      }
    }
    if (tile.strided) {
      const bool is_written = role_ == "output" || index >= signature_.first_written();
      return check_rows(subject(index), array, is_written);
    }
    return check_strides(subject(index), tile.is_column(), array);
  }

  Subject subject(std::size_t index) const {
    return {"kernel", signature_.kernel, role_, arguments_[index].name};
  }

 private:
  /// A size that is not known yet is checked by the call that knows it.
  diag::Status check_multiple(std::size_t index, const Array& array, std::string_view name,
                              std::int64_t size) const {
    for (const auto& [dimension, of] : signature_.multiples) {
      if (dimension != name || size < 0 || size % of == 0) continue;
      return diag::fail(Kind::ArrayMultiple, {subject(index).text(), rules_.text(array.shape),
                                              dimension, rules_.text(size), std::to_string(of)});
    }
    return diag::success();
  }

  /// The elements of a named type are those of the first array that has it.
  diag::Status check_elements(std::size_t index, const Array& array) {
    const std::string& expected = arguments_[index].tile.dtype;
    const auto both = [](std::string_view dtype) {
      return concat(framework_name(dtype), " (", dtype, ")");
    };
    const auto refuse = [&](std::string why, const char* fix) {
      return diag::fail(Kind::ArrayElements,
                        {subject(index).text(), both(array.dtype), std::move(why), fix});
    };
    if (!is_type_name(expected)) {
      if (expected.empty() || accepts(expected, array.dtype)) return diag::success();
      return refuse(concat("expected ", both(expected)), "convert it, or change the Tile");
    }
    const auto known = types_.find(expected);
    if (known && *known != array.dtype) {
      return refuse(
          concat("but ", type_owner(expected, index), " gave ", expected, " = ", both(*known)),
          "convert one of them");
    }
    if (known) return diag::success();
    if (element_bits(array.dtype) == 0) {
      return refuse(concat("and PTX has no such type for ", expected), "convert it");
    }
    types_.add(expected, array.dtype);
    return diag::success();
  }

  std::string size_owner(std::string_view dimension, std::size_t index) const {
    const auto row = std::ranges::find(sizes_, dimension, &Sizes::Row::first);
    return owner(row - sizes_.begin(), known_, index, [dimension](const Tile& tile) {
      return std::ranges::count(tile.dims, dimension, &Dimension::name) != 0;
    });
  }

  std::string type_owner(std::string_view type, std::size_t index) const {
    const auto row = std::ranges::find(types_, type, &Types::Row::first);
    return owner(row - types_.begin(), known_types_, index,
                 [type](const Tile& tile) { return tile.dtype == type; });
  }

  /// Who gave a name its value, the one at `row`, before the argument `index`.
  template <typename HasName>
  std::string owner(std::ptrdiff_t row, std::size_t known, std::size_t index,
                    HasName has_name) const {
    if (static_cast<std::size_t>(row) >= known) {
      for (const Argument& argument : arguments_.first(index)) {
        if (has_name(argument.tile)) return concat(role_, " '", argument.name, "'");
      }
    }
    return "the inputs";
  }

  const Signature& signature_;
  std::span<const Argument> arguments_;
  std::string_view role_;
  Sizes& sizes_;
  Types& types_;
  std::size_t known_;        // of the sizes, before these arrays
  std::size_t known_types_;  // of the types
  const SizeRules& rules_;
};

diag::Status check_bound_one(const BoundTo& bound, const SavedTensor& tensor, const Array& array,
                             const std::string& device) {
  const Subject subject{"bound kernel", bound.kernel, "argument", tensor.name};
  constexpr const char* kFix = "bind the kernel to tensors like these, or call the kernel itself";
  if (!accepts(tensor.dtype, array.dtype)) {
    return diag::fail(Kind::ArrayElements, {subject.text(), array.dtype,
                                            concat("it was bound to ", tensor.dtype), kFix});
  }
  if (tensor.shape != array.shape) {
    return diag::fail(Kind::BoundShape, {subject.text(), plain_sizes().text(array.shape),
                                         plain_sizes().text(tensor.shape), kFix});
  }
  if (array.device != device) {
    const std::string_view place = bound.device ? "it was bound to " : "the first is on ";
    return diag::fail(Kind::ArrayDevice, {subject.text(), array.device, concat(place, device),
                                          "move it, or bind there too"});
  }
  return check_strides(subject, tensor.column_major, array);
}

}  // namespace

diag::Result<Bound> bind_inputs(const Signature& signature, std::span<const Array> arrays,
                                const SizeRules& rules) {
  if (arrays.size() != signature.inputs.size()) {
    const bool has_outputs = arrays.size() == signature.tensor_count();
    return diag::fail(
        Kind::ArrayCount,
        {signature.title(), counted("takes", signature.inputs, "input"),
         concat("got ", arrays.size(), has_outputs ? "; outputs are passed as out=" : "")});
  }
  Bound bound;
  Side side(signature, signature.inputs, "argument", bound, rules);
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    if (auto status = side.check(i, arrays[i]); !status) return status.failure();
  }
  for (std::size_t i = 1; i < arrays.size(); ++i) {
    if (arrays[i].device == arrays[0].device) continue;
    return diag::fail(Kind::ArrayDevice, {side.subject(i).text(), arrays[i].device,
                                          concat("but argument '", signature.inputs[0].name,
                                                 "' is on ", arrays[0].device),
                                          "move one of them"});
  }
  if (signature.inouts != 0) {
    auto status =
        check_overlap(signature.kernel, signature.inputs, arrays, signature.first_written());
    if (!status) return status.failure();
  }
  return bound;
}

diag::Status check_written(const Signature& signature, std::span<const Array> arrays) {
  std::vector<Argument> tensors = signature.inputs;
  tensors.insert(tensors.end(), signature.outputs.begin(), signature.outputs.end());
  return check_overlap(signature.kernel, tensors, arrays, signature.first_written());
}

diag::Status bind_outputs(const Signature& signature, std::span<const Array> arrays, Bound& bound,
                          std::string_view device, const SizeRules& rules) {
  if (arrays.size() != signature.outputs.size()) {
    return diag::fail(Kind::ArrayCount,
                      {signature.title(), counted("has", signature.outputs, "output"),
                       concat("out= has ", arrays.size())});
  }
  Side side(signature, signature.outputs, "output", bound, rules);
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    if (auto status = side.check(i, arrays[i]); !status) return status;
    if (arrays[i].device == device) continue;
    return diag::fail(Kind::ArrayDevice,
                      {side.subject(i).text(), arrays[i].device,
                       concat("the inputs are on ", device), "make it there, or drop out="});
  }
  return check_overlap(signature.kernel, signature.outputs, arrays);
}

diag::Status check_mapped(std::string_view kernel, std::string_view argument,
                          std::uint64_t address) {
  if (address % driver::kMappedAlignment == 0) return diag::success();
  return diag::fail(Kind::ArrayAlignment, {Subject{"kernel", kernel, "argument", argument}.text(),
                                           hexadecimal(address), concat(driver::kMappedAlignment)});
}

diag::Status check_empty_grid(const Signature& signature, const std::array<std::int64_t, 3>& grid,
                              std::span<const Shape> outputs) {
  const auto is_empty = [](const Shape& shape) { return std::ranges::count(shape, 0) != 0; };
  if (std::ranges::count(grid, 0) == 0 || std::ranges::all_of(outputs, is_empty)) {
    return diag::success();
  }
  std::string shapes;
  for (const Shape& shape : outputs) {
    shapes += concat(shapes.empty() ? "" : ", ", plain_sizes().text(shape));
  }
  return diag::fail(Kind::EmptyGrid, {signature.title(), plain_sizes().text(grid), shapes});
}

diag::Status check_bound(const BoundTo& bound, std::span<const Array> inputs,
                         std::optional<std::span<const Array>> outputs) {
  const auto count_problem = [&](std::span<const SavedTensor> expected, std::size_t got,
                                 std::string_view what) {
    return diag::fail(Kind::ArrayCount, {concat("bound kernel '", bound.kernel, "'"),
                                         counted("has", expected, what), concat("got ", got)});
  };
  if (inputs.size() != bound.inputs.size()) {
    return count_problem(bound.inputs, inputs.size(), "input");
  }
  if (outputs && outputs->size() != bound.outputs.size()) {
    return count_problem(bound.outputs, outputs->size(), "output");
  }
  const std::size_t total = inputs.size() + (outputs ? outputs->size() : 0);
  const auto array = [&](std::size_t i) -> const Array& {
    return i < inputs.size() ? inputs[i] : (*outputs)[i - inputs.size()];
  };
  for (std::size_t i = 0; i < total; ++i) {
    const SavedTensor& tensor =
        i < bound.inputs.size() ? bound.inputs[i] : bound.outputs[i - bound.inputs.size()];
    auto status = check_bound_one(bound, tensor, array(i), bound.device.value_or(array(0).device));
    if (!status) return status;
    if (std::ranges::count(bound.mapped, i) == 0) continue;
    status = check_mapped(bound.kernel, tensor.name, array(i).pointer);
    if (!status) return status;
  }
  return outputs ? check_overlap(bound.kernel, bound.outputs, *outputs) : diag::success();
}

}  // namespace pyptx::interop
