// SPDX-License-Identifier: Apache-2.0
//
// Matching the tensors of a call (see the header).
#include "call/table.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace pyptx::python {

namespace {

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

bool Specialisation::complete() {
  const driver::LaunchPlan& plan = image->plan();
  if (inputs.size() + outputs.size() != plan.tensor_count || plan.tensor_count > kMaxTensors ||
      inouts > inputs.size()) {
    return false;
  }
  for (const driver::ParamSlot& slot : plan.params) {
    if (slot.kind != driver::ParamSlot::Kind::Scalar && slot.tensor >= plan.tensor_count) {
      return false;
    }
  }
  std::vector<std::uint64_t> alignments(plan.tensor_count, 1);
  for (const std::uint32_t index : plan.map_tensors()) {
    alignments[index] = driver::kMappedAlignment;
  }
  for (const auto* tensors : {&inputs, &outputs}) {
    for (const TensorShape& tensor : *tensors) {
      expected.add(tensor, std::max(tensor.alignment, alignments[expected.size()]));
    }
  }
  for (const TensorShape& output : outputs) {
    makers.emplace_back(output.type, output.shape, output.column_major);
    makes_column_major = makes_column_major || output.column_major;
  }
  return true;
}

bool Specialisation::matches(const GivenTensors& tensors) const {
  const auto& [views, missing, given] = tensors;
  if (views.size() != expected.size() - outputs.size() || views.empty()) return false;
  if (missing != absent) return false;
  if (given ? given->size() != outputs.size() : !makes_outputs) return false;
  const dlpack::Device& place = views.front().device;
  if (place.type != device || (device_index >= 0 && place.id != device_index)) return false;
  return expected.match(0, views, place) && (!given || expected.match(views.size(), *given, place));
}

bool Specialisation::is_for_the_same(const Specialisation& other) const {
  // Inputs alone do not tell outputs: a dimension that only an output has may be any, and so may a
  // bN output's type.
  return device == other.device && device_index == other.device_index && absent == other.absent &&
         inputs == other.inputs && outputs == other.outputs && are_same(keywords, other.keywords);
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
    Py_VISIT(entry->recorded.get());
  }
  return 0;
}

SpecialisationUse CallTable::find(const GivenTensors& tensors, const CallKeywords& keywords) {
  const std::size_t count = entries_.size();
  if (last_ >= count) last_ = 0;
  for (std::size_t tried = 0; tried < count; ++tried) {
    std::size_t index = last_ + tried;
    if (index >= count) index -= count;
    const Specialisation& tried_one = *entries_[index];
    if (!keywords.match(tried_one.keywords) || !tried_one.matches(tensors)) continue;
    last_ = index;
    ++entries_[index]->users;
    return SpecialisationUse(entries_[index].get());
  }
  return nullptr;
}

}  // namespace pyptx::python
