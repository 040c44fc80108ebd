// SPDX-License-Identifier: Apache-2.0
//
// Registers and the operators on them, with the names and meanings of Python's pyptx.reg. An
// operator emits; where two operands of one C++ expression both emit, C++ does not say which comes
// first, so give one of them a name. `==` and `!=` carry no source line of their own.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <source_location>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "pyptx/author/trace.h"
#include "pyptx/build/operators.h"

namespace pyptx {

using build::Guard;

template <typename T>
concept Literal = std::integral<T> || std::floating_point<T>;
template <typename T>
concept RegisterLike = std::convertible_to<T, build::Reg>;

namespace author {

/// What stands right of an operator, and where.
struct Right {
  build::Value value;
  std::source_location where;

  template <typename T>
    requires Literal<T> || RegisterLike<T>
  Right(const T& given,  // NOLINT(*-explicit-*)
        std::source_location from = std::source_location::current())
      : value(value_of(given)), where(from) {}

  template <typename T>
  static build::Value value_of(const T& given) {
    if constexpr (std::floating_point<T>) {
      return static_cast<double>(given);
    } else if constexpr (std::integral<T>) {
      return static_cast<std::int64_t>(given);
    } else {
      return static_cast<build::Reg>(given);
    }
  }
};

}  // namespace author

/// A register. Copies name the same one; `a += b` writes it, `a = b` makes `a` name another.
class Reg : public build::Reg {
 public:
  Reg() = default;
  Reg(build::Reg reg) : build::Reg(reg) {}  // NOLINT(*-explicit-*)

  Reg& operator+=(const author::Right& b) { return update(build::BinaryOp::Add, b); }
  Reg& operator-=(const author::Right& b) { return update(build::BinaryOp::Sub, b); }
  Reg& operator*=(const author::Right& b) { return update(build::BinaryOp::Mul, b); }
  Reg& operator<<=(const author::Right& b) { return update(build::BinaryOp::Shl, b); }
  Reg& operator>>=(const author::Right& b) { return update(build::BinaryOp::Shr, b); }
  Reg& operator&=(const author::Right& b) { return update(build::BinaryOp::And, b); }
  Reg& operator|=(const author::Right& b) { return update(build::BinaryOp::Or, b); }
  Reg& operator^=(const author::Right& b) { return update(build::BinaryOp::Xor, b); }

  Reg max(const author::Right& b) const { return binary(build::BinaryOp::Max, *this, b); }
  Reg min(const author::Right& b) const { return binary(build::BinaryOp::Min, *this, b); }

  static Reg binary(build::BinaryOp op, build::Value a, const author::Right& b) {
    return build::binary(author::at(b.where), op, a, b.value);
  }
  static Reg compare(build::Comparison how, build::Value a, const author::Right& b) {
    return build::compare(author::at(b.where), how, a, b.value);
  }

 private:
  Reg& update(build::BinaryOp op, const author::Right& b) {
    build::update(author::at(b.where), op, *this, b.value);
    return *this;
  }
};

// The language has no other way to say "the same for each operator".
#define PYPTX_OPERATOR(symbol, function, op)                                    \
  inline Reg operator symbol(const Reg& a, const author::Right& b) {            \
    return Reg::function(op, a, b);                                             \
  }                                                                             \
  template <Literal T>                                                          \
  Reg operator symbol(T a, const Reg& b) {                                      \
    return Reg::function(op, author::Right::value_of(a), author::Right(b, {})); \
  }
PYPTX_OPERATOR(+, binary, build::BinaryOp::Add)
PYPTX_OPERATOR(-, binary, build::BinaryOp::Sub)
PYPTX_OPERATOR(*, binary, build::BinaryOp::Mul)
PYPTX_OPERATOR(<<, binary, build::BinaryOp::Shl)
PYPTX_OPERATOR(>>, binary, build::BinaryOp::Shr)
PYPTX_OPERATOR(&, binary, build::BinaryOp::And)
PYPTX_OPERATOR(|, binary, build::BinaryOp::Or)
PYPTX_OPERATOR(^, binary, build::BinaryOp::Xor)
PYPTX_OPERATOR(<, compare, build::Comparison::Lt)
PYPTX_OPERATOR(<=, compare, build::Comparison::Le)
PYPTX_OPERATOR(>, compare, build::Comparison::Gt)
PYPTX_OPERATOR(>=, compare, build::Comparison::Ge)
#undef PYPTX_OPERATOR

/// A Reg, or something that stands for one here (an element of an array).
template <typename T>
concept AuthorRegister = std::derived_from<T, Reg> || requires { typename T::StandsForRegister; };

template <typename A, typename B>
concept Comparable =
    (AuthorRegister<A> && (AuthorRegister<B> || Literal<B>)) || (Literal<A> && AuthorRegister<B>);

template <typename A, typename B>
  requires Comparable<A, B>
Reg operator==(const A& a, const B& b) {
  return Reg::compare(build::Comparison::Eq, author::Right::value_of(a), author::Right(b, {}));
}
template <typename A, typename B>
  requires Comparable<A, B>
Reg operator!=(const A& a, const B& b) {
  return Reg::compare(build::Comparison::Ne, author::Right::value_of(a), author::Right(b, {}));
}

/// A predicate read as its opposite, for a guard or an operand.
inline Guard operator!(const Reg& predicate) { return {predicate, true}; }
/// not.bN or not.pred
inline Reg operator~(const Reg& a) { return build::complement(author::tracer(), a); }
inline Reg operator-(const Reg& a) { return build::negate(author::tracer(), a); }
inline Reg abs(const Reg& a) { return build::absolute(author::tracer(), a); }

/// Registers of one type.
class RegArray {
 public:
  /// One of them. Assigning a result makes its instruction write the element directly.
  class Element {
   public:
    using StandsForRegister = void;
    explicit Element(const Reg& reg) : reg_(reg) {}
    Element(const Element&) = default;
    ~Element() = default;
    operator Reg() const { return reg_; }         // NOLINT(*-explicit-*)
    operator build::Reg() const { return reg_; }  // NOLINT(*-explicit-*)
    Element& operator=(Reg&& result);
    Element& operator=(const author::Right& value);
    Element& operator=(const Element& other) { return *this = author::Right(other.reg_); }

   private:
    Reg reg_;
  };

  RegArray() = default;
  RegArray(const std::vector<build::Reg>& regs, isa::Type type) : regs_(regs), type_(type) {}

  Element operator[](std::size_t index) const { return Element(regs_.at(index)); }
  std::size_t size() const { return regs_.size(); }
  isa::Type dtype() const { return type_; }
  const std::vector<build::Reg>& regs() const { return regs_; }
  operator const std::vector<build::Reg>&() const { return regs_; }  // NOLINT(*-explicit-*)

 private:
  std::vector<build::Reg> regs_;
  isa::Type type_{};
};

namespace reg {

/// A fresh register, holding `init` where it is given.
Reg scalar(isa::Type type, std::optional<build::Value> init = {}, std::string_view name = {},
           std::source_location where = std::source_location::current());
RegArray array(isa::Type type, std::size_t count, std::string_view name = {},
               std::source_location where = std::source_location::current());
/// `source` converted to `type`, in a fresh register.
Reg from(const author::Right& source, isa::Type type);
/// The accumulator of an m x n wgmma.
RegArray wgmma_frag(std::int64_t m, std::int64_t n, isa::Type type, std::string_view name = {},
                    std::source_location where = std::source_location::current());

}  // namespace reg
}  // namespace pyptx
