// SPDX-License-Identifier: Apache-2.0
//
// A kernel settled without a call: for one size (SavedKernel), or for any size of the dimensions
// that a launch brings (OpenKernel).
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "core.h"
#include "pyptx/interop/open_kernel.h"
#include "pyptx/support/concat.h"

namespace pyptx::call {
namespace {

using diag::Kind;
using interop::SizeExpression;
using support::concat;

/// A tile with the numbers and types that are known.
interop::Tile settled(interop::Tile tile, const interop::Bound& bound) {
  for (interop::Dimension& dim : tile.dims) {
    const auto size = dim.is_named() ? bound.sizes.find(dim.name) : std::nullopt;
    if (size) dim = interop::Dimension(*size);
  }
  if (const auto type = bound.types.resolve(tile.dtype)) tile.dtype = *type;
  return tile;
}

SizeExpression expression_of(const interop::Dimension& dim) {
  return dim.is_named() ? SizeExpression::of(dim.name) : SizeExpression(dim.size);
}

}  // namespace

diag::Result<interop::SavedKernel> Core::saved(const AllKnown& known, const void* values) {
  auto bound = bind(known);
  if (!bound) return bound.failure();
  auto facts = signature_.facts(bound->sizes, bound->types);
  if (!facts) return facts.failure();
  TraceKey key;
  facts->strides.resize(facts->shapes.size());
  for (std::size_t i = 0; i < facts->shapes.size(); ++i) {
    if (signature_.tensor(i).tile.strided) {
      facts->strides[i] = interop::dense_strides(facts->shapes[i]);
    }
    key.tensors.push_back(traced_tensor(i, facts->shapes[i], facts->dtypes[i]));
  }
  const auto grid = grid_for(*bound, values_or_default(values));
  if (!grid) return diag::fail(grid.error());
  auto target = target_for(kHost);
  if (!target) return target.failure();
  key.target = std::move(*target);
  key.values = copy_of(values);
  auto slot = trace(std::move(key));
  if (!slot) return slot.failure();
  auto scalars = fixed_scalars(*bound, *facts);
  for (const interop::ScalarParameter& scalar : scalars_) {
    if (scalar.value) scalars.push_back({scalar.name, interop::Number::of_bits(*scalar.value)});
  }
  return interop::compose((*slot)->text, signature_, *facts,
                          launch_of(**slot, *grid, std::move(scalars)));
}

diag::Result<interop::OpenKernel> Core::open(const AllKnown& known, const void* values) {
  auto bound = bind(known);
  if (!bound) return bound.failure();
  if (!declared_.is_open_grid) {
    return diag::fail(Kind::OpenSizes, {signature_.title(),
                                        "has a grid that asks for numbers, so it cannot be "
                                        "carried for any size; write it as an expression, "
                                        "ceil_div(dim(\"N\"), 128)"});
  }
  interop::OpenKernel out;
  out.signature = signature_;
  for (auto* side : {&out.signature.inputs, &out.signature.outputs}) {
    for (interop::Argument& argument : *side) {
      argument.tile = settled(std::move(argument.tile), *bound);
      for (const interop::Dimension& dim : argument.tile.dims) {
        if (!dim.is_named() || std::ranges::count(declared_.spec.dynamic, dim.name) != 0) continue;
        return diag::fail(
            Kind::OpenSizes,
            {signature_.title(),
             concat("is traced for each size of '", dim.name,
                    "', so it cannot be carried for any: name it in `dynamic`, which makes it a "
                    "parameter of the launch, or give it a number")});
      }
      if (interop::element_bits(argument.tile.dtype) == 0) {
        return diag::fail(Kind::OpenSizes,
                          {concat(signature_.title(), ": argument '", argument.name, "'"),
                           "has any element type, so it cannot be carried; say which"});
      }
      argument.tile.strided = false;  // what is carried is dense
    }
  }
  auto key = key_of(known, values);
  if (!key) return key.failure();
  auto slot = trace(std::move(*key));
  if (!slot) return slot.failure();
  out.text = (*slot)->text;
  const interop::KernelLaunch launch = launch_of(**slot, {1, 1, 1}, {});
  auto grid = declared_.grid(Dims(*bound), values_or_default(values)).extents;
  for (SizeExpression& extent : grid) extent = extent.with(bound->sizes);
  out.launch = {.grid = std::move(grid),
                .block = launch.block,
                .cluster = launch.cluster,
                .dynamic_shared = launch.dynamic_shared,
                .scalars = open_scalars(out.signature, *bound),
                .maps = (*slot)->traced->map_tensors,
                .maps_by_value = launch.maps_by_value,
                .is_programmatic = launch.is_programmatic};
  return out;
}

std::vector<interop::OpenScalar> Core::open_scalars(const interop::Signature& settled,
                                                    const interop::Bound& bound) const {
  std::vector<std::pair<std::string, SizeExpression>> strides;
  for (std::size_t i = 0; i < settled.tensor_count(); ++i) {
    const auto& dims = settled.tensor(i).tile.dims;
    SizeExpression stride = 1;
    for (std::size_t axis = dims.size(); axis-- > 0;) {
      if (auto name = stride_name(i, axis)) strides.emplace_back(std::move(*name), stride);
      stride =
          axis + 1 == dims.size() ? expression_of(dims[axis]) : expression_of(dims[axis]) * stride;
    }
  }
  std::vector<interop::OpenScalar> out;
  for (const interop::RawParameter& raw : signature_.scalars) {
    const auto free = std::ranges::find(scalars_, raw.name, &interop::ScalarParameter::name);
    const auto stride =
        std::ranges::find(strides, raw.name, [](const auto& row) { return row.first; });
    if (free != scalars_.end()) {
      out.push_back({.bits = free->value});
    } else if (stride != strides.end()) {
      out.push_back({.size = stride->second});
    } else if (const auto size = bound.sizes.find(raw.name)) {
      out.push_back({.size = SizeExpression(*size)});
    } else {
      out.push_back({.size = SizeExpression::of(raw.name)});
    }
  }
  return out;
}

diag::Result<interop::SavedKernel> saved(Core& core, const AllKnown& known, const void* values) {
  return core.saved(known, values);
}

diag::Result<interop::OpenKernel> open(Core& core, const AllKnown& known, const void* values) {
  return core.open(known, values);
}

diag::Status save(Core& core, const std::string& path, const AllKnown& known, const void* values) {
  const auto is_given = [&](const std::string& name) {
    return std::ranges::count(known, name, &Known::name) != 0;
  };
  if (std::ranges::all_of(core.declared().spec.dynamic, is_given)) {
    const auto kernel = core.saved(known, values);
    return kernel ? kernel->save(path) : diag::fail(kernel.error());
  }
  const auto kernel = core.open(known, values);
  return kernel ? kernel->save(path) : diag::fail(kernel.error());
}

}  // namespace pyptx::call
