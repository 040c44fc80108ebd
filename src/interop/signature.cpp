// SPDX-License-Identifier: Apache-2.0
//
// Declarations of kernels, judged before there is a call (see the header).
#include "pyptx/interop/signature.h"

#include <algorithm>

#include "pyptx/interop/scalar.h"
#include "pyptx/support/concat.h"

namespace pyptx::interop {
namespace {

using diag::Kind;
using support::concat;

support::Failure<diag::Diagnostic> bad_declaration(std::string what, std::string why) {
  return diag::fail(Kind::DeclarationType, {std::move(what), std::move(why)});
}

std::ptrdiff_t count_of(const Tile& tile, std::string_view dimension) {
  return std::ranges::count(tile.dims, dimension, &Dimension::name);
}

/// The named dimensions of all tensors: "M, N", or "none".
std::string listed_dimensions(const Signature& signature) {
  std::vector<std::string_view> names;
  std::string out;
  for (std::size_t i = 0; i < signature.tensor_count(); ++i) {
    for (const Dimension& dim : signature.tensor(i).tile.dims) {
      if (!dim.is_named() || std::ranges::count(names, dim.name) != 0) continue;
      names.emplace_back(dim.name);
      out += concat(out.empty() ? "" : ", ", dim.name);
    }
  }
  return out.empty() ? "none" : out;
}

diag::Status check_batch(const Signature& signature) {
  const std::string what = concat(signature.title(), ": batch='", signature.batch, "'");
  for (std::size_t i = 0; i < signature.tensor_count(); ++i) {
    const auto& [name, tile] = signature.tensor(i);
    if (count_of(tile, signature.batch) > 1) {
      return bad_declaration(
          what, concat("is twice in '", name, "', ", tile.text(), "; a batch is one dimension"));
    }
  }
  for (const auto& [name, tile] : signature.outputs) {
    if (count_of(tile, signature.batch) == 0 && tile.partial.empty()) {
      return bad_declaration(
          concat(what, ": output '", name, "'"),
          concat("has no such dimension, so the outputs of two batches cannot be put together; "
                 "name it in the Tile, say partial='",
                 signature.batch, "' if it is a sum over the batch, or leave batch= out"));
    }
  }
  const auto has_batch = [&](const Argument& input) {
    return count_of(input.tile, signature.batch) != 0;
  };
  if (std::ranges::none_of(signature.inputs, has_batch)) {
    return bad_declaration(what, concat("is no dimension of an input; the named ones are ",
                                        listed_dimensions(signature)));
  }
  return diag::success();
}

diag::Status check_partial(const Signature& signature, std::size_t index) {
  const auto& [name, tile] = signature.tensor(index);
  const bool is_input = index < signature.inputs.size();
  const std::string what = concat(signature.title(), ": ", is_input ? "input '" : "output '", name,
                                  "': partial='", tile.partial, "'");
  if (is_input) return bad_declaration(what, "is said of outputs alone");
  if (tile.partial != signature.batch) {
    return bad_declaration(
        what, concat("names a sum over the batch; say kernel(batch='", tile.partial, "') too"));
  }
  if (count_of(tile, tile.partial) != 0) {
    return bad_declaration(what, concat("is a dimension of it, ", tile.text(),
                                        "; a sum over the batch has none of it"));
  }
  return diag::success();
}

/// A name stands for a dimension, a tensor, a scalar or a type.
diag::Status check_type_name(const Signature& signature, const Argument& argument) {
  const std::string& type = argument.tile.dtype;
  const auto refuse = [&](std::string_view other) {
    return bad_declaration(
        concat(signature.title(), ": dtype='", type, "' of '", argument.name, "'"),
        concat("is the name of a ", other, " too; rename one of them"));
  };
  for (std::size_t i = 0; i < signature.tensor_count(); ++i) {
    if (count_of(signature.tensor(i).tile, type) != 0) return refuse("dimension");
  }
  if (signature.index_of(type)) return refuse("tensor");
  if (std::ranges::count(signature.scalars, type, &RawParameter::name) != 0) {
    return refuse("raw parameter");
  }
  return diag::success();
}

diag::Status check_multiples(const Signature& signature) {
  for (const auto& [dimension, of] : signature.multiples) {
    const std::string what =
        concat(signature.title(), ": multiple_of={'", dimension, "': ", of, "}");
    if (of < 1) {
      return diag::fail(Kind::DeclarationValue, {what, "is no number of 1 or more"});
    }
    bool is_known = false;
    for (std::size_t i = 0; i < signature.tensor_count(); ++i) {
      is_known = is_known || count_of(signature.tensor(i).tile, dimension) != 0;
    }
    if (!is_known) {
      return bad_declaration(
          what, concat("names no dimension; the named ones are ", listed_dimensions(signature)));
    }
  }
  return diag::success();
}

diag::Status check_out_init(const Signature& signature) {
  const std::string what = concat(signature.title(), ": out_init=", signature.out_init);
  const auto refuse = [&](std::string why) { return bad_declaration(what, std::move(why)); };
  if (signature.outputs.empty()) return refuse("is of outputs, and there are none");
  if (!read_number_text(signature.out_init)) return refuse("is no number");
  for (const Argument& output : signature.outputs) {
    if (output.tile.strided) {
      return refuse(concat("cannot fill '", output.name, "', whose rows may lie apart"));
    }
    if (is_type_name(output.tile.dtype)) continue;  // the types of a call say
    if (!fill_bits(output.tile.dtype, signature.out_init)) {
      return refuse(concat("is no value of '", output.name, "', ", output.tile.dtype));
    }
  }
  return diag::success();
}

std::string listed_types() {
  std::string out;
  for (const ScalarType& type : scalar_types()) out += concat(out.empty() ? "" : ", ", type.name);
  return out;
}

}  // namespace

std::string Signature::title() const { return concat("kernel '", kernel, "'"); }

std::optional<std::uint32_t> Signature::index_of(std::string_view name) const {
  for (std::uint32_t i = 0; i < tensor_count(); ++i) {
    if (tensor(i).name == name) return i;
  }
  return std::nullopt;
}

std::optional<std::uint64_t> fill_bits(std::string_view dtype, std::string_view value) {
  const auto number = read_number_text(value);
  const ScalarType* type = find_scalar_type(dtype);
  if (!number) return std::nullopt;
  if (type != nullptr) return number->bits(*type);
  // Of a format that no parameter has, only the bits of zero are known here.
  const bool is_zero = number->bits(*find_scalar_type("u8")) == std::uint64_t{0};
  return is_zero ? std::optional<std::uint64_t>(0) : std::nullopt;
}

diag::Status Signature::check() const {
  if (!out_init.empty()) {
    if (auto status = check_out_init(*this); !status) return status;
  }
  if (inouts > inputs.size()) {
    return bad_declaration(
        title(), concat("has ", inouts, " in-out tensors among ", inputs.size(), " inputs"));
  }
  if (inouts != 0 && !batch.empty()) {
    return bad_declaration(
        concat(title(), ": batch='", batch, "'"),
        concat("cannot be said of a kernel that writes '", inputs[inputs.size() - inouts].name,
               "' in place: make it an output, or leave batch= out"));
  }
  for (std::size_t i = 0; i < tensor_count(); ++i) {
    const Tile& tile = tensor(i).tile;
    if (auto status = tile.check(); !status) return status;
    if (is_type_name(tile.dtype)) {
      if (auto status = check_type_name(*this, tensor(i)); !status) return status;
    }
    if (tile.partial.empty()) continue;
    if (auto status = check_partial(*this, i); !status) return status;
  }
  for (const RawParameter& scalar : scalars) {
    if (find_scalar_type(scalar.type) != nullptr) continue;
    return bad_declaration(
        concat(title(), ": raw parameter '", scalar.name, "'"),
        concat("has type '", scalar.type,
               "', expected the name of a type that a parameter can have, such as 'u32' or "
               "'f32' (",
               listed_types(), ")"));
  }
  for (const Argument& output : outputs) {
    if (!output.tile.dtype.empty()) continue;
    return bad_declaration(concat(title(), ": output '", output.name, "'"),
                           "needs an element type");
  }
  if (auto known = check_multiples(*this); !known) return known;
  return batch.empty() ? diag::success() : check_batch(*this);
}

diag::Result<std::vector<Shape>> Signature::output_shapes(const Sizes& sizes) const {
  std::vector<Shape> out;
  out.reserve(outputs.size());
  for (const Argument& output : outputs) {
    auto shape = output.tile.shape(sizes);
    if (!shape) {
      auto& words = shape.error()->arguments;
      words[0] = concat(title(), ": output '", output.name, "': ", words[0]);
      words[2] = "; no input has it: pass it by keyword, or pass out=";
      return shape.failure();
    }
    out.push_back(std::move(*shape));
  }
  return out;
}

diag::Result<std::string> Signature::type_of(std::size_t index, const Types& types) const {
  const auto& [name, tile] = tensor(index);
  if (const auto type = types.resolve(tile.dtype)) return std::string(*type);
  return diag::fail(
      Kind::KeywordName,
      {title(), concat("needs the element type ", tile.dtype, " of '", name,
                       "', which no tensor here gives; say which, as in ", tile.dtype, "=bf16")});
}

diag::Result<std::vector<std::string>> Signature::output_types(const Types& types) const {
  std::vector<std::string> out;
  for (std::size_t i = inputs.size(); i < tensor_count(); ++i) {
    auto type = type_of(i, types);
    if (!type) return type.failure();
    out.push_back(std::move(*type));
  }
  return out;
}

diag::Result<std::pair<Shape, std::string>> Signature::fact(std::size_t index,
                                                            const Bound& bound) const {
  const auto& [name, tile] = tensor(index);
  auto shape = tile.shape(bound.sizes);
  if (!shape) {
    auto& words = shape.error()->arguments;
    words[0] = concat(title(), ": argument '", name,
                      "' is known by its Tile alone, so its shape must be: ", words[0]);
    words[2] = "; give it by keyword";
    return shape.failure();
  }
  if (tile.dtype.empty()) {
    return bad_declaration(
        concat(title(), ": argument '", name, "'"),
        "is known by its Tile alone, which has no element type; pass a tensor, or set the "
        "type");
  }
  auto type = type_of(index, bound.types);
  if (!type) return type.failure();
  return std::pair(std::move(*shape), std::move(*type));
}

diag::Result<Facts> Signature::facts(const Sizes& sizes, const Types& types) const {
  const Bound bound{sizes, types};
  Facts out;
  for (std::size_t i = 0; i < tensor_count(); ++i) {
    auto found = fact(i, bound);
    if (!found) return found.failure();
    out.shapes.push_back(std::move(found->first));
    out.dtypes.push_back(std::move(found->second));
  }
  return out;
}

diag::Result<layout::TensorMap> Signature::map(std::size_t index, const Facts& facts) const {
  const auto& [name, tile] = tensor(index);
  const Shape strides = index < facts.strides.size() ? facts.strides[index] : Shape();
  auto made = tile.map(facts.shapes[index], facts.dtypes[index], strides);
  auto problem = made ? made->problem(0) : std::optional(made.error());
  if (!problem) return *made;
  return diag::fail(Kind::ArrayMap, {title(), name, plain_sizes().text(facts.shapes[index]),
                                     tile.text(), std::move(*problem)});
}

}  // namespace pyptx::interop
