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
    if (count_of(tile, signature.batch) == 0) {
      return bad_declaration(
          concat(what, ": output '", name, "'"),
          "has no such dimension, so the outputs of two batches cannot be put together; "
          "name it in the Tile, or leave batch= out");
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

diag::Status Signature::check() const {
  for (std::size_t i = 0; i < tensor_count(); ++i) {
    if (auto status = tensor(i).tile.check(); !status) return status;
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

diag::Result<std::pair<Shape, std::string>> Signature::fact(std::size_t index,
                                                            const Sizes& sizes) const {
  const auto& [name, tile] = tensor(index);
  auto shape = tile.shape(sizes);
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
  return std::pair(std::move(*shape), tile.dtype);
}

diag::Result<Facts> Signature::facts(const Sizes& sizes) const {
  Facts out;
  for (std::size_t i = 0; i < tensor_count(); ++i) {
    auto found = fact(i, sizes);
    if (!found) return found.failure();
    out.shapes.push_back(std::move(found->first));
    out.dtypes.push_back(std::move(found->second));
  }
  return out;
}

diag::Result<layout::TensorMap> Signature::map(std::size_t index, const Facts& facts) const {
  const auto& [name, tile] = tensor(index);
  auto made = tile.map(facts.shapes[index], facts.dtypes[index]);
  auto problem = made ? made->problem(0) : std::optional(made.error());
  if (!problem) return *made;
  return diag::fail(Kind::ArrayMap, {title(), name, plain_sizes().text(facts.shapes[index]),
                                     tile.text(), std::move(*problem)});
}

}  // namespace pyptx::interop
