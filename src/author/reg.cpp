// SPDX-License-Identifier: Apache-2.0
#include "pyptx/author/reg.h"

#include <optional>
#include <string_view>

#include "pyptx/build/division.h"
#include "pyptx/support/concat.h"

namespace pyptx {

const Reg& Reg::set(const author::Assigned& value) const {
  build::Tracer& tracer = author::at(value.where);
  const bool is_written = value.is_result && tracer.retarget(*value.value.reg(), *this);
  if (!is_written) build::assign(tracer, *this, value.value);
  return *this;
}

Reg Reg::max(const author::Right& b) const {
  return author::binary(build::BinaryOp::Max, {*this, b.where}, b);
}

Reg Reg::min(const author::Right& b) const {
  return author::binary(build::BinaryOp::Min, {*this, b.where}, b);
}

const Reg& Reg::update(build::BinaryOp op, const author::Right& b) const {
  build::update(author::at(b.where), op, *this, b.value);
  return *this;
}

// A variable that names nothing yet has nothing to lose, and one that names a register of another
// trace is refused where it is used.
void Reg::rebind(const Reg& other) {
  if (owner != 0 && (id != other.id || owner != other.owner))
    author::check_rebinding(*this, block_);
  build::Reg::operator=(other);
  block_ = author::copied(other);
}

namespace author {

Reg binary(build::BinaryOp op, const Left& a, const Right& b) {
  return build::binary(at(b.where), op, a.value, b.value);
}

Reg compare(build::Comparison how, const Left& a, const Right& b) {
  return build::compare(at(b.where), how, a.value, b.value);
}

Reg quotient(const Left& a, const Right& b) {
  const auto is_float = [](const build::Value& value) {
    const bool is_register = value.reg() != nullptr;
    return is_register && isa::info(value.reg()->type).kind == isa::TypeKind::Float;
  };
  build::Tracer& tracer = at(b.where);
  if (is_float(a.value) || is_float(b.value)) {
    return build::binary(tracer, build::BinaryOp::Div, a.value, b.value);
  }
  return build::divide(tracer, build::Quotient::TowardsZero, a.value, b.value);
}

Reg rest(const Left& a, const Right& b) {
  return build::remainder(at(b.where), build::Quotient::TowardsZero, a.value, b.value);
}

namespace {

/// The register that an operator of one operand takes.
template <typename F>
Reg unary(const Right& a, F&& f) {
  build::Tracer& tracer = at(a.where);
  const build::Reg* reg = a.value.reg();
  return reg == nullptr ? Reg() : Reg(f(tracer, *reg));
}

}  // namespace

Reg negated(const Right& a) { return unary(a, build::negate); }
Reg complement(const Right& a) { return unary(a, build::complement); }
Reg absolute(const Right& a) { return unary(a, build::absolute); }

}  // namespace author

RegArray::Element RegArray::operator[](Index index) const {
  if (index.value >= 0 && static_cast<std::size_t>(index.value) < regs_.size()) {
    return Element(regs_[static_cast<std::size_t>(index.value)]);
  }
  author::at(index.where)
      .report({diag::Kind::BadArgument,
               {"the index of an array", support::concat("below ", regs_.size()),
                support::concat(index.value)}});
  return Element(build::Reg{});
}

RegArray RegArray::slice(Index first, std::size_t count) const {
  const auto begin = static_cast<std::size_t>(first.value);
  if (first.value < 0 || begin > regs_.size() || count > regs_.size() - begin) {
    author::at(first.where)
        .report({diag::Kind::BadArgument,
                 {"a slice of an array", support::concat("within ", regs_.size(), " registers"),
                  support::concat(count, " from ", first.value)}});
    return {};
  }
  const auto from = regs_.begin() + static_cast<std::ptrdiff_t>(begin);
  return {{from, from + static_cast<std::ptrdiff_t>(count)}, type_};
}

namespace reg {

Reg scalar(isa::Type type, std::optional<author::Right> init, std::string_view name,
           std::source_location where) {
  std::optional<build::Value> value;
  if (init) value = init->value;
  return build::scalar(author::at(where), type, value, name);
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
