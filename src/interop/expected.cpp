// SPDX-License-Identifier: Apache-2.0
//
// Matching the tensors of a call (see the header).
#include "pyptx/interop/expected.h"

#include <utility>

namespace pyptx::interop {

TensorShape::TensorShape(dlpack::DataType element, std::vector<std::int64_t> extents,
                         bool is_column)
    : type(element),
      shape(std::move(extents)),
      bytes(dlpack::byte_count(type, shape)),
      column_major(is_column),
      rows(ByteRows::dense(bytes)) {}

void ExpectedTensors::add(const TensorShape& shape, std::uint64_t alignment) {
  const std::size_t rank = shape.shape.size();
  const std::size_t first = dimensions_.size();
  dimensions_.resize(first + rank);
  for (std::size_t i = 0; i < shape.strides.size(); ++i) {
    dimensions_[first + i] = {shape.shape[i], shape.strides[i]};
  }
  std::uint64_t stride = 1;  // of a shape that nothing can have it wraps around
  for (std::size_t i = shape.strides.size(); i < rank; ++i) {
    const std::size_t axis = shape.column_major ? i : rank - 1 - i;
    dimensions_[first + axis] = {shape.shape[axis], static_cast<std::int64_t>(stride)};
    stride *= static_cast<std::uint64_t>(shape.shape[axis]);
  }
  tensors_.push_back({shape.type, static_cast<std::int32_t>(rank), shape.bytes,
                      static_cast<std::uint32_t>(alignment - 1),
                      static_cast<std::uint32_t>(first)});
}

bool ExpectedTensors::match(std::size_t first, std::span<const ReadTensor> views,
                            const dlpack::Device& device) const {
  for (const ReadTensor& view : views) {
    const Tensor& expected = tensors_[first++];
    if (!(view.dtype == expected.type) || view.ndim != expected.rank || !(view.device == device) ||
        static_cast<std::int64_t>(expected.bytes) > view.room ||
        (view.address() & expected.zero_bits) != 0) {
      return false;
    }
    const Dimension* dimension = dimensions_.data() + expected.first;
    for (std::int32_t i = 0; i < expected.rank; ++i) {
      if (view.shape[i] != dimension[i].extent) return false;
      // The strides of dimensions of one element are free, and so are those of an empty tensor.
      if (view.strides[i] != dimension[i].stride && dimension[i].extent != 1 &&
          expected.bytes != 0) {
        return false;
      }
    }
  }
  return true;
}

}  // namespace pyptx::interop
