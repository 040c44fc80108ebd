// SPDX-License-Identifier: Apache-2.0
//
// A size or stride of a tensor as its body sees it: a number of the trace or, where the launch
// brings it, a register. A number goes wherever C++ wants one (`for (i = 0; i < X.shape(0); ...)`);
// both go where a register or a literal does (`i < X.shape(0)`, ptx::range, reg::from).
#pragma once

#include <compare>
#include <concepts>
#include <cstdint>
#include <optional>
#include <source_location>

#include "pyptx/author/reg.h"
#include "pyptx/build/shared.h"

namespace pyptx {

/// A size or a stride: a number, or a register of the launch.
class Size {
 public:
  Size(std::int64_t number, const std::source_location& where) : number_(number), where_(where) {}
  Size(const build::Reg& reg, const std::source_location& where) : reg_(reg), where_(where) {}

  bool is_number() const { return !reg_; }
  /// The number. BodySize where it is a register: C++ runs before there is a launch.
  operator std::int64_t() const;  // NOLINT(*-explicit-*)

  // NOLINTBEGIN(*-explicit-*): a size is written where an operand is.
  operator author::Left() const;
  operator author::Right() const;
  operator build::Index() const { return reg_ ? build::Index(*reg_) : build::Index(number_); }
  operator ir::Operand() const;
  // NOLINTEND(*-explicit-*)

  // A number where both are one.
  friend Size operator+(const Size& a, const Size& b) {
    return a.combined(build::BinaryOp::Add, b);
  }
  friend Size operator-(const Size& a, const Size& b) {
    return a.combined(build::BinaryOp::Sub, b);
  }
  friend Size operator*(const Size& a, const Size& b) {
    return a.combined(build::BinaryOp::Mul, b);
  }
  // The same with a number on one side: as good a match as C++'s own operators.
  template <std::integral T>
  friend Size operator+(const Size& a, T b) {
    return a + a.beside(b);
  }
  template <std::integral T>
  friend Size operator+(T a, const Size& b) {
    return b.beside(a) + b;
  }
  template <std::integral T>
  friend Size operator-(const Size& a, T b) {
    return a - a.beside(b);
  }
  template <std::integral T>
  friend Size operator-(T a, const Size& b) {
    return b.beside(a) - b;
  }
  template <std::integral T>
  friend Size operator*(const Size& a, T b) {
    return a * a.beside(b);
  }
  template <std::integral T>
  friend Size operator*(T a, const Size& b) {
    return b.beside(a) * b;
  }
  friend bool operator==(const Size& a, const Size& b) {
    return std::int64_t{a} == std::int64_t{b};
  }
  friend std::strong_ordering operator<=>(const Size& a, const Size& b) {
    return std::int64_t{a} <=> std::int64_t{b};
  }

 private:
  template <std::integral T>
  Size beside(T number) const {
    return {static_cast<std::int64_t>(number), where_};
  }
  build::Value value() const;
  Size combined(build::BinaryOp op, const Size& b) const;

  std::optional<build::Reg> reg_;
  std::int64_t number_ = 0;
  std::source_location where_;
};

}  // namespace pyptx
