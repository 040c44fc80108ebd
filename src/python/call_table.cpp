// SPDX-License-Identifier: Apache-2.0
//
// Matching the tensors of a call (see the header).
#include "call_table.h"

#include <algorithm>
#include <utility>

namespace pyptx::python {

TensorShape::TensorShape(dlpack::DataType element, std::vector<std::int64_t> extents)
    : type(element), shape(std::move(extents)), bytes(dlpack::byte_count(type, shape)) {}

bool TensorShape::matches(const ReadTensor& view) const {
  return view.dtype == type && static_cast<std::size_t>(view.ndim) == shape.size() &&
         std::equal(shape.begin(), shape.end(), view.shape) && dlpack::is_contiguous(view) &&
         static_cast<std::int64_t>(bytes) <= view.room &&
         (reinterpret_cast<std::uintptr_t>(view.data) + view.byte_offset) % alignment == 0;
}

bool Specialisation::complete() {
  const driver::LaunchPlan& plan = image->plan();
  if (inputs.size() + outputs.size() != plan.tensor_count || plan.tensor_count > kMaxTensors) {
    return false;
  }
  for (const driver::ParamSlot& slot : plan.params) {
    if (slot.kind != driver::ParamSlot::Kind::Scalar && slot.tensor >= plan.tensor_count) {
      return false;
    }
  }
  for (const std::uint32_t index : plan.map_tensors()) {
    auto& tensor = index < inputs.size() ? inputs[index] : outputs[index - inputs.size()];
    tensor.alignment = driver::kMappedAlignment;
  }
  for (const TensorShape& output : outputs) makers.emplace_back(output.type, output.shape);
  return true;
}

bool Specialisation::matches(std::span<const ReadTensor> views,
                             std::optional<std::span<const ReadTensor>> given) const {
  if (views.size() != inputs.size() || views.empty()) return false;
  if (given ? given->size() != outputs.size() : !makes_outputs) return false;
  const dlpack::Device& place = views.front().device;
  if (place.type != device || (device_index >= 0 && place.id != device_index)) return false;
  for (std::size_t i = 0; i < views.size(); ++i) {
    if (!(views[i].device == place) || !inputs[i].matches(views[i])) return false;
  }
  for (std::size_t i = 0; given && i < given->size(); ++i) {
    const ReadTensor& view = (*given)[i];
    if (!(view.device == place) || !outputs[i].matches(view)) return false;
  }
  return true;
}

void CallTable::add(SpecialisationUse specialisation) {
  // The same tensors again mean that the caller has a newer image for them. Inputs alone do not
  // tell outputs: a dimension that only an output has may be any, and so may a bN output's type.
  const auto same = [&](const SpecialisationUse& known) {
    return known->device == specialisation->device &&
           known->device_index == specialisation->device_index &&
           known->inputs == specialisation->inputs && known->outputs == specialisation->outputs;
  };
  std::erase_if(entries_, same);
  // The oldest goes: a call that needs it again takes the slow path once.
  if (entries_.size() >= kMaxSpecialisations) entries_.erase(entries_.begin());
  entries_.push_back(std::move(specialisation));
  last_ = entries_.size() - 1;
}

SpecialisationUse CallTable::find(std::span<const ReadTensor> views,
                                  std::optional<std::span<const ReadTensor>> given) {
  const std::size_t count = entries_.size();
  if (last_ >= count) last_ = 0;
  for (std::size_t tried = 0; tried < count; ++tried) {
    std::size_t index = last_ + tried;
    if (index >= count) index -= count;
    if (!entries_[index]->matches(views, given)) continue;
    last_ = index;
    ++entries_[index]->users;
    return SpecialisationUse(entries_[index].get());
  }
  return nullptr;
}

}  // namespace pyptx::python
