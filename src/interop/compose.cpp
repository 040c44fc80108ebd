// SPDX-License-Identifier: Apache-2.0
//
// Launch plans for modules that were traced here (see the header).
#include "pyptx/interop/compose.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "pyptx/interop/dlpack.h"
#include "pyptx/interop/registry.h"
#include "pyptx/support/concat.h"
#include "pyptx/syntax/printer.h"

namespace pyptx::interop {
namespace {

using diag::Kind;
using driver::ParamSlot;
using support::concat;

std::optional<std::uint32_t> index_of(const KernelLaunch& launch, std::string_view name) {
  std::uint32_t index = 0;
  for (const auto* side : {&launch.inputs, &launch.outputs}) {
    for (const SavedTensor& tensor : *side) {
      if (tensor.name == name) return index;
      ++index;
    }
  }
  return std::nullopt;
}

diag::Result<driver::LaunchPlan> plan_of(const KernelLaunch& launch, std::string_view entry) {
  driver::LaunchPlan plan;
  plan.entry = entry;
  plan.grid = launch.grid;
  plan.block = launch.block;
  plan.cluster = launch.cluster;
  plan.dynamic_shared = launch.dynamic_shared;
  plan.tensor_count = static_cast<std::uint32_t>(launch.inputs.size() + launch.outputs.size());
  for (std::uint32_t i = 0; i < plan.tensor_count; ++i) {
    plan.params.push_back({ParamSlot::Kind::Pointer, i, 8, 0, {}});
  }
  for (const KernelLaunch::Scalar& scalar : launch.scalars) {
    if (scalar.name.empty()) {
      plan.params.push_back({ParamSlot::Kind::Scalar, 0, scalar.size, scalar.bits, {}});
    } else {
      const ScalarType* type = find_scalar_type(scalar.type);
      const std::uint32_t size = type == nullptr ? scalar.size : type->size;
      plan.params.push_back({ParamSlot::Kind::Argument, 0, size, 0, {}});
    }
  }
  const auto kind = launch.maps_by_value ? ParamSlot::Kind::MapValue : ParamSlot::Kind::MapPointer;
  for (const KernelLaunch::Map& map : launch.maps) {
    const auto index = index_of(launch, map.tensor);
    if (!index) {
      return diag::fail(Kind::BadPlan, {concat("a map is over '", map.tensor, "', no tensor")});
    }
    plan.params.push_back({kind, *index, launch.maps_by_value ? 128U : 8U, 0, map.map});
  }
  if (auto why = plan.problem()) return diag::fail(std::move(*why));
  return plan;
}

/// Those that each launch brings.
diag::Result<std::vector<ScalarParameter>> parameters_of(const KernelLaunch& launch,
                                                         std::string_view entry) {
  std::vector<ScalarParameter> out;
  for (const KernelLaunch::Scalar& scalar : launch.scalars) {
    if (scalar.name.empty()) continue;
    ScalarParameter parameter{scalar.name, find_scalar_type(scalar.type)};
    if (parameter.type == nullptr) {
      return diag::fail(Kind::BadPlan, {concat("the scalar '", scalar.name, "' has the type '",
                                               scalar.type, "', no parameter has")});
    }
    if (scalar.value) {
      auto bits = argument_bits(parameter, *scalar.value, entry);
      if (!bits) return bits.failure();
      parameter.value = *bits;
    }
    out.push_back(std::move(parameter));
  }
  return out;
}

}  // namespace

SavedTensor dense_tensor(std::string name, std::string dtype, std::vector<std::int64_t> shape) {
  SavedTensor out{std::move(name), std::move(dtype), std::move(shape), 0, false};
  if (const auto* element = dlpack::find_element_type(out.dtype)) {
    out.bytes = dlpack::byte_count(element->type, out.shape);
  }
  return out;
}

diag::Result<SavedKernel> compose(const std::shared_ptr<const ir::Module>& module,
                                  std::string_view entry, KernelLaunch launch) {
  auto scalars = parameters_of(launch, entry);
  if (!scalars) return scalars.failure();
  auto plan = plan_of(launch, entry);
  if (!plan) return plan.failure();
  const ir::Function* function = module->entry(entry);
  if (function == nullptr) return diag::fail(Kind::EmuNoEntry, {std::string(entry)});
  if (function->parameters.size() != plan->params.size()) {
    return diag::fail(Kind::KernelParameters,
                      {concat(std::min(function->parameters.size(), plan->params.size())),
                       std::string(entry), concat(function->parameters.size(), " parameters"),
                       concat(plan->params.size(), " parameters")});
  }
  SavedKernel out;
  out.image = Registry::instance().intern(syntax::print(*module), module->target.text(),
                                          std::move(*plan), module);
  out.inputs = std::move(launch.inputs);
  out.outputs = std::move(launch.outputs);
  out.scalars = std::move(*scalars);
  return out;
}

}  // namespace pyptx::interop
