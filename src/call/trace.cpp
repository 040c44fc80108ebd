// SPDX-License-Identifier: Apache-2.0
//
// The traces of a kernel: one for everything that a trace reads, made once, by whoever needs it
// first. What each launch brings is in none.
#include <algorithm>
#include <string>
#include <utility>

#include "core.h"

namespace pyptx::call {
namespace {

/// Multiples of its divisor that stand for a size of the launch in what a trace knows of a map,
/// whose box does not depend on how long the tensor is.
constexpr std::int64_t kUnbounded = 1 << 16;

}  // namespace

author::TracedSize Core::traced_size(std::string_view parameter, std::int64_t divisor) const {
  const auto raw = std::ranges::find(signature_.scalars, parameter, &interop::RawParameter::name);
  return {.parameter = std::string(parameter),
          .type = isa::find_type(raw->type).value_or(isa::Type::U32),
          .divisor = divisor};
}

author::TracedTensor Core::traced_tensor(std::size_t index, const interop::Shape& shape,
                                         const std::string& dtype) const {
  const auto& [name, tile] = signature_.tensor(index);
  const auto& dynamic = declared_.spec.dynamic;
  author::TracedTensor out{.name = name,
                           .dtype = isa::find_type(dtype).value_or(isa::Type::None),
                           .is_column = tile.is_column()};
  out.shape.emplace();
  interop::Shape any = shape;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    const interop::Dimension& dim = tile.dims[axis];
    if (!dim.is_named() || std::ranges::count(dynamic, dim.name) == 0) {
      out.shape->push_back({.number = shape[axis]});
      continue;
    }
    const auto& multiples = signature_.multiples;
    const auto multiple = std::ranges::find(multiples, dim.name, &interop::Multiple::dimension);
    const std::int64_t divisor = multiple == multiples.end() ? 1 : multiple->of;
    out.shape->push_back(traced_size(dim.name, divisor));
    any[axis] = kUnbounded * divisor;
  }
  for (std::size_t axis = 0; tile.strided && axis < shape.size(); ++axis) {
    const auto stride = stride_name(index, axis);
    out.strides.push_back(stride ? traced_size(*stride, 1) : author::TracedSize{.number = 1});
  }
  if (!dtype.empty()) {
    auto map = tile.map(any, dtype);
    if (map && !map->problem(0)) out.map = *map;
  }
  return out;
}

diag::Result<std::shared_ptr<TraceSlot>> Core::trace(TraceKey key) {
  std::shared_ptr<TraceSlot> slot;
  {
    const std::lock_guard lock(traces_mutex_);
    const auto found = std::ranges::find_if(traces_, [&](const auto& known) {
      return known->key.tensors == key.tensors && known->key.target == key.target &&
             are_same(known->key.values.get(), key.values.get());
    });
    if (found != traces_.end()) {
      slot = *found;
    } else {
      slot = std::make_shared<TraceSlot>();
      slot->key = std::move(key);
      if (traces_.size() >= interop::kMaxSpecialisations) traces_.erase(traces_.begin());
      traces_.push_back(slot);
    }
  }
  const std::lock_guard lock(slot->mutex);
  if (slot->traced != nullptr) return slot;
  const KernelSpec<>& spec = declared_.spec;
  KernelOptions options;
  const auto target = isa::Target::parse(slot->key.target);
  if (!target) return diag::fail(diag::Kind::UnknownTarget, {slot->key.target});
  options.target = *target;
  options.version = spec.version;
  options.maps_by_value = spec.maps_by_value;
  options.force_dynamic_shared = spec.force_dynamic_shared || spec.shared != 0;
  options.dynamic_shared_name = spec.dynamic_shared_name;
  options.directives = spec.directives;
  options.line_info = spec.line_info;
  for (const interop::RawParameter& scalar : signature_.scalars) {
    const isa::Type type = isa::find_type(scalar.type).value_or(isa::Type::None);
    const bool is_register = isa::info(type).is_register;
    options.raw_params.emplace_back(is_register ? type : isa::info(type).storage, scalar.name);
  }
  auto traced = author::trace(
      declared_.name, slot->key.tensors, options,
      [&](std::span<const Tensor> tensors) { declared_.body(tensors, slot->key.values.get()); });
  if (!traced) return traced.failure();
  slot->text = interop::text_of(traced->module);
  slot->traced = std::make_shared<const Traced>(std::move(*traced));
  return slot;
}

}  // namespace pyptx::call
