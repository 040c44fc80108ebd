// SPDX-License-Identifier: Apache-2.0
//
// Launch plans for modules that were traced (see the header).
#include "pyptx/interop/compose.h"

#include <algorithm>
#include <utility>

#include "check_compose.h"
#include "pyptx/interop/launch_limits.h"
#include "pyptx/interop/registry.h"
#include "pyptx/support/concat.h"
#include "pyptx/syntax/printer.h"
#include "pyptx/verify/instruction.h"
#include "pyptx/verify/module.h"

namespace pyptx::interop {
namespace {

using diag::Kind;
using driver::ParamSlot;
using support::concat;

const KernelLaunch::Scalar* find_scalar(const KernelLaunch& launch, std::string_view name) {
  const auto found = std::ranges::find(launch.scalars, name, &KernelLaunch::Scalar::name);
  return found == launch.scalars.end() ? nullptr : &*found;
}

/// The raw parameters, with the bits of those that have a value.
diag::Result<std::vector<ScalarParameter>> scalars_of(const Signature& signature,
                                                      const KernelLaunch& launch) {
  for (const KernelLaunch::Scalar& given : launch.scalars) {
    if (std::ranges::count(signature.scalars, given.name, &RawParameter::name) != 0) continue;
    return diag::fail(Kind::BadPlan, {concat(signature.title(), " has no scalar '", given.name,
                                             "' to give a value to")});
  }
  std::vector<ScalarParameter> out;
  for (const RawParameter& declared : signature.scalars) {
    ScalarParameter parameter{declared.name, find_scalar_type(declared.type)};
    if (parameter.type == nullptr) {
      return diag::fail(Kind::BadPlan, {concat("the scalar '", declared.name, "' has the type '",
                                               declared.type, "', no parameter has")});
    }
    if (const auto* given = find_scalar(launch, declared.name)) {
      auto bits = argument_bits(parameter, given->value, signature.kernel);
      if (!bits) return bits.failure();
      parameter.value = *bits;
    }
    out.push_back(std::move(parameter));
  }
  return out;
}

bool is_fixed(const KernelLaunch& launch, const ScalarParameter& scalar) {
  const auto* given = find_scalar(launch, scalar.name);
  return given != nullptr && given->is_fixed;
}

diag::Result<std::vector<MapSlot>> maps_of(const Signature& signature, const Facts& facts,
                                           const KernelLaunch& launch) {
  std::vector<MapSlot> out;
  for (const KernelLaunch::Map& map : launch.maps) {
    const auto index = signature.index_of(map.tensor);
    if (!index) {
      return diag::fail(Kind::BadPlan, {concat("a map is over '", map.tensor, "', no tensor")});
    }
    if (map.map) {
      out.push_back({*index, *map.map});
      continue;
    }
    auto described = signature.map(*index, facts);
    if (!described) return described.failure();
    out.push_back({*index, *described});
  }
  return out;
}

/// What outputs hold before the kernel begins.
diag::Status add_fills(driver::LaunchPlan& plan, const Signature& signature, const Facts& facts) {
  if (signature.out_init.empty()) return diag::success();
  for (std::size_t i = signature.inputs.size(); i < signature.tensor_count(); ++i) {
    const auto bits = fill_bits(facts.dtypes[i], signature.out_init);
    const auto size = static_cast<std::uint32_t>(element_bits(facts.dtypes[i]) / 8);
    if (!bits || size == 0 || size > 8) {
      return diag::fail(
          Kind::DeclarationType,
          {concat(signature.title(), ": out_init=", signature.out_init),
           concat("is no value of '", signature.tensor(i).name, "', ", facts.dtypes[i])});
    }
    const std::uint64_t bytes = tensor_bytes(facts.dtypes[i], facts.shapes[i]);
    plan.fills.push_back({static_cast<std::uint32_t>(i), size, *bits, bytes / size});
  }
  return diag::success();
}

diag::Result<driver::LaunchPlan> plan_of(const Signature& signature, const Facts& facts,
                                         const KernelLaunch& launch,
                                         std::span<const ScalarParameter> scalars) {
  const std::size_t count = signature.tensor_count();
  if (auto counted = check_fact_count(signature, facts); !counted) return counted.failure();
  driver::LaunchPlan plan;
  plan.entry = signature.kernel;
  plan.grid = launch.grid;
  plan.block = launch.block;
  plan.cluster = launch.cluster;
  plan.dynamic_shared = launch.dynamic_shared;
  plan.is_programmatic = launch.is_programmatic;
  plan.tensor_count = static_cast<std::uint32_t>(count);
  std::vector<ScalarSlot> slots;
  for (const ScalarParameter& scalar : scalars) {
    const bool has_bits = is_fixed(launch, scalar);
    slots.push_back({has_bits ? scalar.value : std::nullopt, scalar.type->size});
  }
  const auto maps = maps_of(signature, facts, launch);
  if (!maps) return diag::fail(maps.error());
  add_parameters(plan, slots, *maps, launch.maps_by_value);
  if (auto filled = add_fills(plan, signature, facts); !filled) return filled.failure();
  return plan;
}

/// Whether the entry is what the plan launches.
diag::Status check_entry(const TracedText& text, const driver::LaunchPlan& plan,
                         std::string_view title) {
  const ir::Function* entry = text.module->entry(plan.entry);
  if (entry == nullptr) return diag::fail(Kind::EmuNoEntry, {plan.entry});
  const std::size_t takes = entry->parameters.size();
  if (takes != plan.params.size()) {
    return diag::fail(Kind::KernelParameters,
                      {concat(std::min(takes, plan.params.size())), plan.entry,
                       concat(takes, " parameters"), concat(plan.params.size(), " parameters")});
  }
  const std::string what = concat(title, ":");
  const Extents block{plan.block.x, plan.block.y, plan.block.z};
  if (auto status = check_directives(what, block, *text.module, *entry); !status) return status;
  if (auto status = check_shared(what, text.target, plan.dynamic_shared); !status) return status;
  if (plan.is_programmatic) {
    if (auto status = check_programmatic(what, *text.module); !status) return status;
  }
  if (auto why = plan.problem()) return diag::fail(std::move(*why));
  return diag::success();
}

diag::Result<std::shared_ptr<KernelImage>> image_of(TracedText text, const Signature& signature,
                                                    const Facts& facts, const KernelLaunch& launch,
                                                    std::span<const ScalarParameter> scalars) {
  auto plan = plan_of(signature, facts, launch, scalars);
  if (!plan) return plan.failure();
  if (auto fits = check_entry(text, *plan, signature.title()); !fits) return fits.failure();
  const ir::Function& entry = *text.module->entry(plan->entry);
  if (auto ordered = order_parameters(*plan, signature, launch, *text.module, entry); !ordered) {
    return ordered.failure();
  }
  return Registry::instance().intern(std::move(text.ptx), std::move(text.target), std::move(*plan),
                                     text.module);
}

/// A module that can be run: each instruction matched to its form. One that was traced is; one that
/// was read, and perhaps edited, is copied, judged and verified.
diag::Result<std::shared_ptr<const ir::Module>> runnable(
    const std::shared_ptr<const ir::Module>& module) {
  const auto is_header = [](const ir::Item& item) { return item.kind == ir::ItemKind::Header; };
  if (std::ranges::none_of(module->items, is_header)) return module;
  auto judged = std::make_shared<ir::Module>(*module);
  const auto refused = [&](diag::Diagnostic found) {
    found.resolve(judged->locations);
    return diag::fail(std::move(found));
  };
  if (!judged->findings.empty()) return refused(judged->findings.front());
  verify::InstructionJudge judge;
  for (auto& function : judged->functions) {
    for (ir::Instruction& instruction : function->instructions) {
      if (auto status = judge.judge(*judged, *function, instruction); !status) {
        return refused(std::move(status.error()));
      }
    }
  }
  for (diag::Diagnostic& found : verify::verify_module(*judged)) {
    if (found.severity() == diag::Severity::Error) return refused(std::move(found));
  }
  return std::shared_ptr<const ir::Module>(std::move(judged));
}

SavedTensor saved_tensor(const Argument& argument, const Shape& shape, const std::string& dtype) {
  return {argument.name, dtype, shape, tensor_bytes(dtype, shape), argument.tile.is_column()};
}

}  // namespace

TracedText text_of(const std::shared_ptr<const ir::Module>& module) {
  return {module, syntax::print(*module), module->target.text()};
}

void add_parameters(driver::LaunchPlan& plan, std::span<const ScalarSlot> scalars,
                    std::span<const MapSlot> maps, bool maps_by_value) {
  using Kind = ParamSlot::Kind;
  plan.params.reserve(plan.params.size() + plan.tensor_count + scalars.size() + maps.size());
  for (std::uint32_t i = 0; i < plan.tensor_count; ++i) {
    plan.params.push_back({Kind::Pointer, i, 8, 0, {}});
  }
  for (const auto& [bits, size] : scalars) {
    plan.params.push_back({bits ? Kind::Scalar : Kind::Argument, 0, size, bits.value_or(0), {}});
  }
  const Kind kind = maps_by_value ? Kind::MapValue : Kind::MapPointer;
  for (const auto& [tensor, map] : maps) {
    plan.params.push_back({kind, tensor, maps_by_value ? 128U : 8U, 0, map});
  }
}

diag::Result<std::shared_ptr<KernelImage>> make_image(TracedText text, const Signature& signature,
                                                      const Facts& facts,
                                                      const KernelLaunch& launch) {
  const auto scalars = scalars_of(signature, launch);
  if (!scalars) return diag::fail(scalars.error());
  return image_of(std::move(text), signature, facts, launch, *scalars);
}

diag::Result<std::shared_ptr<KernelImage>> with_scalars(const KernelImage& image,
                                                        std::span<const std::uint64_t> bits) {
  driver::LaunchPlan plan = image.plan();
  if (const std::size_t count = plan.argument_count(); bits.size() != count) {
    return diag::fail(Kind::ScalarCount, {plan.entry, concat(count), concat(bits.size())});
  }
  auto next = bits.begin();
  for (ParamSlot& slot : plan.params) {
    if (slot.kind != ParamSlot::Kind::Argument) continue;
    slot.kind = ParamSlot::Kind::Scalar;
    slot.bits = *next++;
  }
  return Registry::instance().intern(image.ptx(), image.target(), std::move(plan), image.module());
}

diag::Result<SavedKernel> compose(const std::shared_ptr<const ir::Module>& module,
                                  const Signature& signature, const Facts& facts,
                                  const KernelLaunch& launch) {
  auto run = runnable(module);
  if (!run) return run.failure();
  return compose(text_of(*run), signature, facts, launch);
}

diag::Result<SavedKernel> compose(TracedText text, const Signature& signature, const Facts& facts,
                                  const KernelLaunch& launch) {
  if (auto declared = signature.check(); !declared) return declared.failure();
  auto scalars = scalars_of(signature, launch);
  if (!scalars) return scalars.failure();
  if (auto known = check_facts(signature, facts); !known) return known.failure();
  if (auto asked = check_dynamic_shared(signature, *text.module, launch); !asked) {
    return asked.failure();
  }
  auto image = image_of(std::move(text), signature, facts, launch, *scalars);
  if (!image) return image.failure();
  SavedKernel out;
  out.image = std::move(*image);
  for (std::size_t i = 0; i < signature.tensor_count(); ++i) {
    auto& side = i < signature.inputs.size() ? out.inputs : out.outputs;
    side.push_back(saved_tensor(signature.tensor(i), facts.shapes[i], facts.dtypes[i]));
  }
  out.inouts = signature.inouts;
  for (ScalarParameter& scalar : *scalars) {
    if (!is_fixed(launch, scalar)) out.scalars.push_back(std::move(scalar));
  }
  return out;
}

}  // namespace pyptx::interop
