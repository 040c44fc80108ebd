// SPDX-License-Identifier: Apache-2.0
//
// Kernels in the graphs of other frameworks (see the header).
#include "pyptx/interop/graph_kernel.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "pyptx/support/concat.h"

namespace pyptx::interop {
namespace {

using support::concat;
using KernelResult = diag::Result<std::shared_ptr<const GraphKernel>>;

/// Sizes of one kernel that are kept; an image, and what was found out about it, for each.
constexpr std::size_t kMostSizes = 256;

std::string list_text(std::span<const std::int64_t> numbers) {
  std::string out = "[";
  for (std::size_t i = 0; i < numbers.size(); ++i) out += concat(i == 0 ? "" : ",", numbers[i]);
  return out + "]";
}

std::vector<std::int64_t> dense_strides(const SavedTensor& tensor) {
  const std::size_t rank = tensor.shape.size();
  std::vector<std::int64_t> strides(rank);
  std::int64_t stride = 1;
  for (std::size_t i = 0; i < rank; ++i) {
    const std::size_t axis = tensor.column_major ? i : rank - 1 - i;
    strides[axis] = stride;
    stride *= std::max<std::int64_t>(tensor.shape[axis], 1);
  }
  return strides;
}

/// The strides of dimensions of one element are free, and all of them in an empty tensor.
bool agree(std::span<const std::int64_t> shape, std::span<const std::int64_t> strides,
           std::span<const std::int64_t> expected) {
  bool same = true;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 0) return true;
    same = same && (shape[i] == 1 || strides[i] == expected[i]);
  }
  return same;
}

}  // namespace

KernelResult GraphKernel::make(SavedKernel kernel) {
  std::shared_ptr<GraphKernel> made(new GraphKernel);
  for (std::size_t i = 0; i < kernel.tensor_count(); ++i) {
    const SavedTensor& tensor = kernel.tensor(i);
    const auto* element = dlpack::find_element_type(tensor.dtype);
    if (element == nullptr) {
      return diag::fail(diag::Kind::SavedKernelBytes,
                        {concat("no tensor has elements of ", tensor.dtype)});
    }
    made->elements_.push_back(element);
    made->strides_.push_back(dense_strides(tensor));
  }
  made->alignments_.assign(kernel.tensor_count(), 1);
  for (const std::uint32_t tensor : kernel.image->plan().map_tensors()) {
    made->alignments_[tensor] = driver::kMappedAlignment;
  }
  made->saved_ = std::move(kernel);
  return std::shared_ptr<const GraphKernel>(std::move(made));
}

std::string GraphKernel::label(std::size_t tensor) const {
  const std::size_t inputs = saved_.inputs.size();
  const bool is_input = tensor < inputs;
  return concat(is_input ? "input " : "output ", is_input ? tensor : tensor - inputs, " ('",
                saved_.tensor(tensor).name, "')");
}

diag::Diagnostic GraphKernel::mismatch(std::string what, std::string expected,
                                       std::string got) const {
  return {diag::Kind::TensorMismatch,
          {std::move(what), saved_.image->plan().entry, std::move(expected), std::move(got)}};
}

diag::Status GraphKernel::check(std::size_t tensor, const TensorView& view) const {
  const SavedTensor& expected = saved_.tensor(tensor);
  if (view.element != elements_[tensor] || !std::ranges::equal(view.shape, expected.shape)) {
    const std::string_view name = view.element == nullptr ? "other elements" : view.element->name;
    return diag::fail(mismatch(label(tensor),
                               concat("be ", expected.dtype, list_text(expected.shape)),
                               concat(name, list_text(view.shape))));
  }
  if (!agree(view.shape, view.strides, strides_[tensor])) {
    return diag::fail(
        mismatch(label(tensor), expected.column_major ? "be column-major" : "be contiguous",
                 concat("strides ", list_text(view.strides), " for ", list_text(view.shape))));
  }
  if (const std::uint32_t alignment = alignments_[tensor]; view.address % alignment != 0) {
    return diag::fail(mismatch(label(tensor),
                               concat("start at a multiple of ", alignment, " bytes"),
                               concat("an address ", view.address % alignment, " bytes past one")));
  }
  if (view.room < static_cast<std::int64_t>(expected.bytes)) {
    return diag::fail(mismatch(
        label(tensor), concat("have ", expected.bytes, " bytes of memory"),
        concat(std::max<std::int64_t>(view.room, 0), " bytes: its storage was freed or shrunk")));
  }
  return diag::success();
}

KernelResult OpenGraphKernel::at(std::span<const Shape> inputs,
                                 std::optional<std::span<const Shape>> outputs) const {
  Shape key;
  const auto add = [&](std::span<const Shape> shapes) {
    for (const Shape& shape : shapes) {
      key.push_back(static_cast<std::int64_t>(shape.size()));
      key.insert(key.end(), shape.begin(), shape.end());
    }
  };
  add(inputs);
  if (outputs) add(*outputs);
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = known_.find(key); found != known_.end()) return found->second;
  }
  auto settled = open_.at(inputs, outputs);
  if (!settled) return settled.failure();
  auto made = GraphKernel::make(std::move(*settled));
  if (!made) return made;
  const std::lock_guard lock(mutex_);
  const auto [place, is_new] = known_.emplace(key, *made);
  if (is_new) order_.push_back(std::move(key));
  std::shared_ptr<const GraphKernel> out = place->second;
  if (order_.size() > kMostSizes) {
    known_.erase(order_.front());
    order_.pop_front();
  }
  return out;
}

GraphKernels& GraphKernels::instance() {
  // Never destroyed: frameworks launch from their own threads while the process ends.
  static auto* const kernels = new GraphKernels;
  return *kernels;
}

diag::Result<Carried> GraphKernels::find(std::string_view text) {
  const std::string_view name = text.substr(0, text.find('\n'));
  {
    const std::shared_lock lock(mutex_);
    if (const auto found = entries_.find(name); found != entries_.end()) return found->second;
  }
  if (name.size() == text.size()) {
    return diag::fail(diag::Kind::UnknownKernel, {std::string(name.substr(0, 100))});
  }
  Carried found;
  if (OpenKernel::has_bytes(text)) {
    auto open = OpenKernel::from_bytes(text);
    if (!open) return open.failure();
    found.open = std::make_shared<const OpenGraphKernel>(std::move(*open));
  } else {
    auto saved = SavedKernel::from_bytes(text);
    if (!saved) return saved.failure();
    auto kernel = GraphKernel::make(std::move(*saved));
    if (!kernel) return kernel.failure();
    found.kernel = std::move(*kernel);
  }
  const std::unique_lock lock(mutex_);
  return entries_.try_emplace(std::string(name), std::move(found)).first->second;
}

}  // namespace pyptx::interop
