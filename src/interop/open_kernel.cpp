// SPDX-License-Identifier: Apache-2.0
//
// Kernels for any size, and what they are for one (see the header). Their bytes are in
// open_kernel_text.cpp.
#include "pyptx/interop/open_kernel.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "pyptx/interop/bind.h"
#include "pyptx/support/concat.h"
#include "saved_text.h"

namespace pyptx::interop {
namespace {

using diag::Kind;
using support::concat;

/// Arrays of these shapes that are what the tiles want in all else.
std::vector<Array> arrays_of(std::span<const Argument> arguments, std::span<const Shape> shapes) {
  std::vector<Array> out;
  out.reserve(shapes.size());
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    out.push_back({shapes[i], i < arguments.size() ? arguments[i].tile.dtype : ""});
  }
  return out;
}

diag::Result<std::vector<Shape>> shapes_of(std::span<const Argument> arguments,
                                           const Sizes& sizes) {
  std::vector<Shape> out;
  for (const Argument& argument : arguments) {
    auto shape = argument.tile.shape(sizes);
    if (!shape) return shape.failure();
    out.push_back(std::move(*shape));
  }
  return out;
}

std::string sizes_text(const Sizes& sizes) {
  std::string out;
  for (const auto& [name, size] : sizes) out += concat(out.empty() ? "" : ", ", name, " = ", size);
  return out;
}

}  // namespace

diag::Result<SavedKernel> OpenKernel::at(const Sizes& sizes) const {
  const auto inputs = shapes_of(signature.inputs, sizes);
  if (!inputs) return diag::fail(inputs.error());
  const auto outputs = shapes_of(signature.outputs, sizes);
  if (!outputs) return diag::fail(outputs.error());
  return at(*inputs, *outputs);
}

diag::Result<SavedKernel> OpenKernel::at(std::span<const Shape> inputs,
                                         std::optional<std::span<const Shape>> outputs) const {
  auto bound = bind_inputs(signature, arrays_of(signature.inputs, inputs));
  if (!bound) return bound.failure();
  if (outputs) {
    const auto written = arrays_of(signature.outputs, *outputs);
    if (auto status = bind_outputs(signature, written, *bound, "cpu"); !status) {
      return status.failure();
    }
  }
  return settled(bound->sizes);
}

diag::Result<KernelLaunch> OpenKernel::launch_of(const Sizes& sizes) const {
  KernelLaunch out{.block = launch.block,
                   .cluster = launch.cluster,
                   .dynamic_shared = launch.dynamic_shared,
                   .maps_by_value = launch.maps_by_value,
                   .is_programmatic = launch.is_programmatic};
  for (std::size_t i = 0; i < launch.scalars.size(); ++i) {
    const OpenScalar& scalar = launch.scalars[i];
    const std::string& name = signature.scalars.at(i).name;
    if (scalar.size) {
      const auto value = scalar.size->value(sizes);
      if (!value) return diag::fail(value.error());
      out.scalars.push_back({name, *value, true});
    } else if (scalar.bits) {
      out.scalars.push_back({name, Number::of_bits(*scalar.bits), scalar.is_fixed});
    }
  }
  for (const std::string& tensor : launch.maps) out.maps.push_back({tensor});
  return out;
}

diag::Result<SavedKernel> OpenKernel::settled(const Sizes& sizes) const {
  auto facts = signature.facts(sizes);
  if (!facts) return facts.failure();
  auto how = launch_of(sizes);
  if (!how) return how.failure();
  std::array<std::int64_t, 3> grid{};
  for (std::size_t i = 0; i < 3; ++i) {
    const auto extent = launch.grid[i].value(sizes);
    if (!extent) return diag::fail(extent.error());
    if (*extent < 0 || *extent > std::numeric_limits<std::uint32_t>::max()) {
      return diag::fail(Kind::DimensionsValue,
                        {concat(signature.title(), ": grid, for ", sizes_text(sizes), ":"),
                         concat(*extent), *extent < 0 ? "negative size" : "size beyond 32 bits"});
    }
    grid[i] = *extent;
  }
  const auto outputs = std::span(facts->shapes).subspan(signature.inputs.size());
  if (auto status = check_empty_grid(signature, grid, outputs); !status) return status.failure();
  const bool is_empty = std::ranges::count(grid, 0) != 0;
  const auto extent = [&](std::size_t i) {
    return is_empty ? 1U : static_cast<std::uint32_t>(grid[i]);
  };
  how->grid = {extent(0), extent(1), extent(2)};
  if (is_empty) how->grid = how->cluster;  // any grid that the cluster divides
  auto kernel = compose(text, signature, *facts, *how);
  if (!kernel) return kernel;
  kernel->is_empty = is_empty;
  kernel->binaries = binaries;
  if (!binaries.empty()) {
    kernel->image =
        image_of_saved(text.ptx, text.target, kernel->image->plan(), text.module, binaries);
  }
  return kernel;
}

diag::Result<std::string> OpenKernel::add_binary(const std::string& target,
                                                 std::vector<std::string> flags) {
  // Code does not depend on a plan.
  driver::LaunchPlan plan;
  plan.entry = signature.kernel;
  plan.block = launch.block;
  const KernelImage image(text.ptx, text.target, std::move(plan), text.module);
  auto assembled = image.assemble(target, std::move(flags));
  if (!assembled) return assembled.failure();
  std::erase_if(binaries, [&](const auto& known) { return known.target == target; });
  binaries.push_back({target, std::move(assembled->cubin)});
  return std::move(assembled->log);
}

diag::Status OpenKernel::save(const std::string& path) const {
  const auto bytes = to_bytes();
  if (!bytes) return diag::fail(bytes.error());
  return write_saved_file(path, *bytes);
}

diag::Result<OpenKernel> OpenKernel::load(const std::string& path) {
  return read_saved(path, &OpenKernel::from_bytes);
}

diag::Result<std::variant<SavedKernel, OpenKernel>> load_any(const std::string& path) {
  using Any = std::variant<SavedKernel, OpenKernel>;
  return read_saved(path, [](std::string_view bytes) -> diag::Result<Any> {
    if (!OpenKernel::has_bytes(bytes)) {
      auto kernel = SavedKernel::from_bytes(bytes);
      return kernel ? diag::Result<Any>(std::move(*kernel)) : kernel.failure();
    }
    auto kernel = OpenKernel::from_bytes(bytes);
    return kernel ? diag::Result<Any>(std::move(*kernel)) : kernel.failure();
  });
}

}  // namespace pyptx::interop
