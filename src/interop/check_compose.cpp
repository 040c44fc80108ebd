// SPDX-License-Identifier: Apache-2.0
#include "check_compose.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pyptx/interop/bind.h"
#include "pyptx/support/concat.h"

namespace pyptx::interop {
namespace {

using diag::Kind;
using support::concat;

/// What the plan passes, in its order, by the names that pyptx::Kernel gives parameters.
std::vector<std::string> names_of(const Signature& signature, const KernelLaunch& launch) {
  std::vector<std::string> names;
  names.reserve(signature.tensor_count() + signature.scalars.size() + launch.maps.size());
  for (std::size_t i = 0; i < signature.tensor_count(); ++i) {
    names.push_back(signature.tensor(i).name);
  }
  for (const RawParameter& scalar : signature.scalars) names.push_back(scalar.name);
  for (const KernelLaunch::Map& map : launch.maps) names.push_back(map.tensor + "_tma_desc");
  return names;
}

support::Failure<diag::Diagnostic> misplaced(std::size_t index, const Signature& signature,
                                             std::string_view takes, std::string_view passed) {
  return diag::fail(Kind::KernelParameters, {concat(index), signature.kernel,
                                             concat("'", takes, "'"), concat("'", passed, "'")});
}

}  // namespace

diag::Status check_fact_count(const Signature& signature, const Facts& facts) {
  const std::size_t count = signature.tensor_count();
  if (facts.shapes.size() == count && facts.dtypes.size() == count) return diag::success();
  return diag::fail(Kind::BadPlan, {concat("the facts are of ", facts.shapes.size(), " tensors, ",
                                           signature.title(), " has ", count)});
}

diag::Status check_facts(const Signature& signature, const Facts& facts) {
  if (auto counted = check_fact_count(signature, facts); !counted) return counted;
  std::vector<Array> arrays;
  for (std::size_t i = 0; i < signature.tensor_count(); ++i) {
    const std::string what = concat("tensor '", signature.tensor(i).name, "'");
    if (std::ranges::any_of(facts.shapes[i], [](std::int64_t size) { return size < 0; })) {
      return diag::fail(Kind::ArgumentShape, {signature.title(), what, "no negative dimension",
                                              plain_sizes().text(facts.shapes[i])});
    }
    if (element_bits(facts.dtypes[i]) == 0) {
      return diag::fail(Kind::ArgumentType, {signature.title(), what, "of a type of pyptx.types",
                                             concat("'", facts.dtypes[i], "'")});
    }
    arrays.push_back({.shape = facts.shapes[i], .dtype = facts.dtypes[i]});
  }
  const std::span all(arrays);
  const std::size_t inputs = signature.inputs.size();
  auto bound = bind_inputs(signature, all.first(inputs));
  if (!bound) return bound.failure();
  return bind_outputs(signature, all.subspan(inputs), *bound, "cpu");
}

diag::Status order_parameters(driver::LaunchPlan& plan, const Signature& signature,
                              const KernelLaunch& launch, const ir::Module& module,
                              const ir::Function& entry) {
  const std::vector<std::string> names = names_of(signature, launch);
  const std::size_t count = names.size();
  if (plan.params.size() != count || entry.parameters.size() != count) return diag::success();
  std::vector<std::size_t> order;
  bool is_ordered = true;
  std::size_t unknown = count;
  for (std::size_t i = 0; i < count; ++i) {
    const std::string_view takes = module.text(entry.parameters[i].name);
    const auto place = static_cast<std::size_t>(std::ranges::find(names, takes) - names.begin());
    if (place == count) unknown = std::min(unknown, i);
    is_ordered = is_ordered && (place == i || place == count);
    order.push_back(place);
  }
  if (is_ordered) return diag::success();
  const auto takes = [&](std::size_t i) { return module.text(entry.parameters[i].name); };
  if (unknown != count) return misplaced(unknown, signature, takes(unknown), names[unknown]);
  std::vector<driver::ParamSlot> ordered;
  // Scalars that a launch brings come in the order of the signature.
  std::size_t last_scalar = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const driver::ParamSlot& slot = plan.params[order[i]];
    if (slot.kind == driver::ParamSlot::Kind::Argument) {
      if (order[i] < last_scalar) return misplaced(i, signature, takes(i), names[last_scalar]);
      last_scalar = order[i];
    }
    ordered.push_back(slot);
  }
  plan.params = std::move(ordered);
  return diag::success();
}

diag::Status check_dynamic_shared(const Signature& signature, const ir::Module& module,
                                  const KernelLaunch& launch) {
  const auto is_dynamic = [](const ir::Variable& variable) {
    return variable.space == ir::Space::Shared && variable.linkage == ir::Linkage::Extern;
  };
  if (launch.dynamic_shared != 0 || std::ranges::none_of(module.variables, is_dynamic)) {
    return diag::success();
  }
  return diag::fail(Kind::LaunchShape, {concat("the dynamic shared memory of ", signature.title()),
                                        "what its trace asks for", "0 bytes"});
}

}  // namespace pyptx::interop
