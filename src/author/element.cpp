// SPDX-License-Identifier: Apache-2.0
#include "pyptx/author/element.h"

#include <cstdint>
#include <utility>

namespace pyptx {
namespace {

std::vector<build::Value> values_of(std::initializer_list<author::Right> given) {
  std::vector<build::Value> values;
  for (const author::Right& value : given) values.push_back(value.value);
  return values;
}

}  // namespace

Shaped::Shaped(const Tensor& tensor, isa::Type type, std::initializer_list<author::Right> sizes,
               Options options)
    : name_(tensor.name()),
      bytes_(static_cast<std::uint32_t>(isa::info(type).bits) / 8),
      sizes_(values_of(sizes)),
      options_(std::move(options)) {}

Shaped::Shaped(const Tensor& tensor, std::source_location where)
    : name_(tensor.name()),
      bytes_(static_cast<std::uint32_t>(isa::info(tensor.dtype(where)).bits) / 8) {
  build::Tracer& tracer = author::at(where);
  const auto value = [&](const author::TracedSize& size) -> build::Value {
    if (size.parameter.empty()) return size.number;
    return tracer.launch_value(size.type, size.parameter);
  };
  const author::TracedTensor& known = tensor.known();
  if (tensor.rank(where) == 0 && !known.shape) return;
  for (const author::TracedSize& size : *known.shape) sizes_.push_back(value(size));
  for (const author::TracedSize& stride : known.strides) {
    options_.strides.push_back(value(stride));
  }
  options_.is_column_major = known.is_column;
}

build::Elements Shaped::elements() const {
  return {name_, bytes_, sizes_, options_.strides, options_.is_column_major};
}

namespace ptx {

Address at(const Shaped& tensor, std::initializer_list<author::Right> indices,
           std::source_location where) {
  build::Tracer& tracer = author::at(where);
  const build::ElementAddress place =
      build::element_address(tracer, tensor.elements(), values_of(indices));
  return {tracer.address(place.base, place.offset)};
}

Reg ptr(const Shaped& tensor, std::initializer_list<author::Right> indices,
        std::source_location where) {
  return build::element_pointer(author::at(where), tensor.elements(), values_of(indices));
}

}  // namespace ptx
}  // namespace pyptx
