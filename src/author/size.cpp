// SPDX-License-Identifier: Apache-2.0
#include "pyptx/author/size.h"

namespace pyptx {

Size::operator std::int64_t() const {
  if (reg_) author::at(where_).report({diag::Kind::BodySize, {}});
  return number_;
}

build::Value Size::value() const {
  if (reg_) return *reg_;
  return number_;
}

Size::operator author::Left() const {
  return reg_ ? author::Left(Reg(*reg_), where_) : author::Left(number_, where_);
}

Size::operator author::Right() const {
  return reg_ ? author::Right(*reg_, where_) : author::Right(number_, where_);
}

Size::operator ir::Operand() const {
  if (reg_) return *reg_;
  return ir::Operand::integer(number_);
}

Size Size::combined(build::BinaryOp op, const Size& b) const {
  if (!reg_ && !b.reg_) {
    const std::int64_t added = op == build::BinaryOp::Sub ? -b.number_ : b.number_;
    return {op == build::BinaryOp::Mul ? number_ * b.number_ : number_ + added, where_};
  }
  return {build::binary(author::at(where_), op, value(), b.value()), where_};
}

}  // namespace pyptx
