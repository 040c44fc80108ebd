// SPDX-License-Identifier: Apache-2.0
#include "pyptx/author/reg.h"

#include <optional>
#include <string_view>

namespace pyptx {

RegArray::Element& RegArray::Element::operator=(Reg&& result) {
  build::Tracer& tracer = author::tracer();
  if (!tracer.retarget(result, reg_)) build::assign(tracer, reg_, result);
  return *this;
}

RegArray::Element& RegArray::Element::operator=(const author::Right& value) {
  build::assign(author::at(value.where), reg_, value.value);
  return *this;
}

namespace reg {

Reg scalar(isa::Type type, std::optional<build::Value> init, std::string_view name,
           std::source_location where) {
  return build::scalar(author::at(where), type, init, name);
}

RegArray array(isa::Type type, std::size_t count, std::string_view name,
               std::source_location where) {
  return {author::at(where).reg_array(type, count, name), type};
}

Reg from(const author::Right& source, isa::Type type) {
  return build::convert(author::at(source.where), source.value, type);
}

RegArray wgmma_frag(std::int64_t m, std::int64_t n, isa::Type type, std::string_view name,
                    std::source_location where) {
  return {build::wgmma_fragment(author::at(where), m, n, type, name), type};
}

}  // namespace reg
}  // namespace pyptx
