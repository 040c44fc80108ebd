// SPDX-License-Identifier: Apache-2.0
#include "pyptx/author/expressions.h"

#include "pyptx/build/division.h"

namespace pyptx::ptx {

using author::Right;

Reg select(const Guard& condition, const Right& a, const Right& b, std::source_location where) {
  return build::select(author::at(where), condition, a.value, b.value);
}

Reg min(const Right& a, const Right& b, std::source_location where) {
  return build::binary(author::at(where), build::BinaryOp::Min, a.value, b.value);
}

Reg max(const Right& a, const Right& b, std::source_location where) {
  return build::binary(author::at(where), build::BinaryOp::Max, a.value, b.value);
}

Reg mad(const Right& a, const Right& b, const Right& c, std::source_location where) {
  return build::multiply_add(author::at(where), a.value, b.value, c.value);
}

Reg floor_div(const Right& a, const Right& b, std::source_location where) {
  return build::divide(author::at(where), build::Quotient::Floor, a.value, b.value);
}

Reg floor_mod(const Right& a, const Right& b, std::source_location where) {
  return build::remainder(author::at(where), build::Quotient::Floor, a.value, b.value);
}

}  // namespace pyptx::ptx
