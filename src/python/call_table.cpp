// SPDX-License-Identifier: Apache-2.0
//
// Matching the tensors of a call (see the header).
#include "call_table.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace pyptx::python {

namespace {

bool is_column_major(const dlpack::Tensor& view) {
  std::int64_t expected = 1;
  for (std::int32_t i = 0; i < view.ndim; ++i) {
    if (view.shape[i] != 1 && view.strides[i] != expected) return false;
    expected *= view.shape[i];
  }
  return true;
}

/// Keywords in another order are the same.
bool are_same(const KeywordValues& one, const KeywordValues& other) {
  const auto is_in_other = [&](const auto& pair) {
    return std::ranges::any_of(other, [&](const auto& known) {
      return PyUnicode_Compare(known.first.get(), pair.first.get()) == 0 &&
             is_same_value(known.second.get(), pair.second.get());
    });
  };
  return one.size() == other.size() && std::ranges::all_of(one, is_in_other);
}

}  // namespace

TensorShape::TensorShape(dlpack::DataType element, std::vector<std::int64_t> extents,
                         bool is_column)
    : type(element),
      shape(std::move(extents)),
      bytes(dlpack::byte_count(type, shape)),
      column_major(is_column) {}

bool TensorShape::matches(const ReadTensor& view) const {
  return view.dtype == type && static_cast<std::size_t>(view.ndim) == shape.size() &&
         std::equal(shape.begin(), shape.end(), view.shape) &&
         (column_major ? is_column_major(view) : dlpack::is_contiguous(view)) &&
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
  for (const TensorShape& output : outputs) {
    makers.emplace_back(output.type, output.shape, output.column_major);
    makes_column_major = makes_column_major || output.column_major;
  }
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

bool Specialisation::is_for_the_same(const Specialisation& other) const {
  // Inputs alone do not tell outputs: a dimension that only an output has may be any, and so may a
  // bN output's type.
  return device == other.device && device_index == other.device_index && inputs == other.inputs &&
         outputs == other.outputs && are_same(keywords, other.keywords);
}

void CallTable::add(SpecialisationUse specialisation) {
  // Freed at the end: that may run Python code, which may call the entry.
  std::vector<SpecialisationUse> dropped;
  // The same again means that the caller has a newer image for it.
  const auto same = std::stable_partition(
      entries_.begin(), entries_.end(),
      [&](const SpecialisationUse& known) { return !known->is_for_the_same(*specialisation); });
  std::move(same, entries_.end(), std::back_inserter(dropped));
  entries_.erase(same, entries_.end());
  // The oldest goes: a call that needs it again takes the slow path once.
  if (entries_.size() >= kMaxSpecialisations) {
    dropped.push_back(std::move(entries_.front()));
    entries_.erase(entries_.begin());
  }
  entries_.push_back(std::move(specialisation));
  last_ = entries_.size() - 1;
}

int CallTable::traverse(visitproc visit, void* arg) const {
  for (const SpecialisationUse& entry : entries_) {
    for (const auto& [name, value] : entry->keywords) Py_VISIT(value.get());
    Py_VISIT(entry->guards.get());
    Py_VISIT(entry->grid.get());
  }
  return 0;
}

SpecialisationUse CallTable::find(std::span<const ReadTensor> views,
                                  std::optional<std::span<const ReadTensor>> given,
                                  const CallKeywords& keywords) {
  const std::size_t count = entries_.size();
  if (last_ >= count) last_ = 0;
  for (std::size_t tried = 0; tried < count; ++tried) {
    std::size_t index = last_ + tried;
    if (index >= count) index -= count;
    const Specialisation& tried_one = *entries_[index];
    if (!keywords.match(tried_one.keywords) || !tried_one.matches(views, given)) continue;
    last_ = index;
    ++entries_[index]->users;
    return SpecialisationUse(entries_[index].get());
  }
  return nullptr;
}

}  // namespace pyptx::python
