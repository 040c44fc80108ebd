// SPDX-License-Identifier: Apache-2.0
#include "pyptx/author/memory.h"

#include <vector>

#include "pyptx/build/memory.h"
#include "pyptx/build/print.h"

namespace pyptx::ptx {

using author::at;

namespace {

std::optional<build::Reg> plain(const std::optional<Reg>& reg) {
  if (!reg) return std::nullopt;
  return *reg;
}

}  // namespace

Reg global_ptr(const Tensor& tensor, Where where) {
  return build::global_pointer(at(where), tensor.name());
}

Reg param(isa::Type type, std::string_view name, const std::optional<Reg>& destination,
          Where where) {
  return build::param(at(where), type, name, plain(destination));
}

Reg sreg(std::string_view name, Where where) { return build::special(at(where), name); }

Address var(std::string_view space, isa::Type type, std::string_view name,
            const VariableOptions& options, Where where) {
  build::Tracer& tracer = at(where);
  return {tracer.address(
      build::variable(tracer, space, type, name, options.size, options.align, options.linking))};
}

namespace cvta {
Reg param(const Reg& source, const std::optional<Reg>& destination, Where where) {
  return build::cvta_param(at(where), source, plain(destination));
}
Reg to_global(const Reg& source, const std::optional<Reg>& destination, Where where) {
  return build::cvta_to_global(at(where), source, plain(destination));
}
}  // namespace cvta

void printf(std::string_view format, std::initializer_list<author::Right> values,
            const Guard& guard, Where where) {
  std::vector<build::Value> given;
  for (const author::Right& value : values) given.push_back(value.value);
  build::print(at(where), format, given, guard);
}

}  // namespace pyptx::ptx
