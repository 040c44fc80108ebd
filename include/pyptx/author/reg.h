// SPDX-License-Identifier: Apache-2.0
//
// Registers and the operators on them, with the names and meanings of Python's pyptx.reg. An
// operator emits; where two operands of one C++ expression both emit, C++ does not say which comes
// first, so give one of them a name.
//
// A Reg is the name of a register, as a pointer is the name of an object. `a += b` and `a.set(b)`
// write the register, as instructions do; `a = b` only makes `a` name another one. That is why
// `const Reg` can be written, and cannot be made to name anything else: declare registers const.
// Inside a block that runs never or many times `a = b` is refused where `a` is of outside.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <source_location>
#include <string_view>
#include <utility>
#include <vector>

#include "pyptx/author/trace.h"
#include "pyptx/build/operators.h"

namespace pyptx {

using build::Guard;

/// A number, which takes the type of the register beside it.
template <typename T>
concept Literal = std::integral<T> || std::floating_point<T>;
/// A register, or what names one.
template <typename T>
concept RegisterLike = std::convertible_to<T, build::Reg>;

class Reg;

namespace author {

/// A register or a literal, and where it is written.
struct Placed {
  build::Value value;
  std::source_location where;

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

/// What stands left of an operator. Two types, so that none of two operands fits better.
struct Left : Placed {
  template <typename T>
    requires Literal<T> || std::derived_from<T, Reg>
  Left(const T& given,  // NOLINT(*-explicit-*)
       std::source_location from = std::source_location::current())
      : Placed{value_of(given), from} {}
};

/// What stands right of one, and what else may be a register or a literal.
struct Right : Placed {
  template <typename T>
    requires Literal<T> || RegisterLike<T>
  Right(const T& given,  // NOLINT(*-explicit-*)
        std::source_location from = std::source_location::current())
      : Placed{value_of(given), from} {}
};

/// What is written into a register. The result of an expression has no other name.
struct Assigned : Placed {
  bool is_result = false;

  template <typename T>
    requires Literal<T> || RegisterLike<T>
  Assigned(const T& given,  // NOLINT(*-explicit-*)
           std::source_location from = std::source_location::current())
      : Placed{value_of(given), from} {}
  Assigned(Reg&& result,  // NOLINT(*-explicit-*)
           std::source_location from = std::source_location::current());
};

}  // namespace author

/// A register. Copies name the same one.
class Reg : public build::Reg {
 public:
  Reg() = default;
  Reg(build::Reg reg) : build::Reg(reg), block_(author::block()) {}  // NOLINT(*-explicit-*)
  // A copy is another variable, made in the block that is being written.
  Reg(const Reg& other) : build::Reg(other), block_(author::copied(other)) {}
  Reg(Reg&& other) noexcept = default;
  /// Names the register of `other`, and writes nothing. Rebinding.
  Reg& operator=(const Reg& other) {
    rebind(other);
    return *this;
  }
  Reg& operator=(Reg&& other) noexcept {
    rebind(other);
    return *this;
  }

  const Reg& operator+=(const author::Right& b) const { return update(build::BinaryOp::Add, b); }
  const Reg& operator-=(const author::Right& b) const { return update(build::BinaryOp::Sub, b); }
  const Reg& operator*=(const author::Right& b) const { return update(build::BinaryOp::Mul, b); }
  const Reg& operator<<=(const author::Right& b) const { return update(build::BinaryOp::Shl, b); }
  const Reg& operator>>=(const author::Right& b) const { return update(build::BinaryOp::Shr, b); }
  const Reg& operator&=(const author::Right& b) const { return update(build::BinaryOp::And, b); }
  const Reg& operator|=(const author::Right& b) const { return update(build::BinaryOp::Or, b); }
  const Reg& operator^=(const author::Right& b) const { return update(build::BinaryOp::Xor, b); }
  /// Writes `value` into the register; an instruction whose result it is writes there itself.
  const Reg& set(const author::Assigned& value) const;

  Reg max(const author::Right& b) const;
  Reg min(const author::Right& b) const;

 private:
  const Reg& update(build::BinaryOp op, const author::Right& b) const;
  void rebind(const Reg& other);

  std::uint32_t block_ = 0;  // where this variable was made, or named its register
};

namespace author {

inline Assigned::Assigned(Reg&& result, std::source_location from)
    : Placed{build::Value(result), from}, is_result(true) {}

/// a op b, in a fresh register.
Reg binary(build::BinaryOp op, const Left& a, const Right& b);
/// A predicate: a and b compared.
Reg compare(build::Comparison how, const Left& a, const Right& b);
/// a / b, as C++ has it.
Reg quotient(const Left& a, const Right& b);
/// a % b, as C++ has it.
Reg rest(const Left& a, const Right& b);
/// -a
Reg negated(const Right& a);
/// ~a
Reg complement(const Right& a);
/// |a|
Reg absolute(const Right& a);

}  // namespace author

// The language has no other way to say "the same for each operator".
#define PYPTX_OPERATOR(symbol, function, op)                                  \
  inline Reg operator symbol(const author::Left& a, const author::Right& b) { \
    return author::function(op, a, b);                                        \
  }
/// Each is one instruction with a fresh register; the types choose which (pyptx/build/operators.h).
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
PYPTX_OPERATOR(==, compare, build::Comparison::Eq)
PYPTX_OPERATOR(!=, compare, build::Comparison::Ne)
#undef PYPTX_OPERATOR

/// As C++ divides: integers towards zero, by shifts and a multiplication where the divisor is a
/// literal. Python's // is ptx::floor_div.
inline Reg operator/(const author::Left& a, const author::Right& b) {
  return author::quotient(a, b);
}
/// a - a / b * b, of integers. Python's % is ptx::floor_mod.
inline Reg operator%(const author::Left& a, const author::Right& b) { return author::rest(a, b); }

/// A predicate read as its opposite, for a guard or an operand.
inline Guard operator!(const Reg& predicate) { return {predicate, true}; }
/// not.bN or not.pred
inline Reg operator~(const author::Right& a) { return author::complement(a); }
/// neg
inline Reg operator-(const author::Right& a) { return author::negated(a); }
/// |a|, in a fresh register.
template <std::derived_from<Reg> T>
Reg abs(const T& a, std::source_location where = std::source_location::current()) {
  return author::absolute({a, where});
}

/// Registers of one type.
class RegArray {
 public:
  /// One of them: a register whose `=` writes it, so that `a[i] = x + y` is one instruction.
  class Element : public Reg {
   public:
    explicit Element(const build::Reg& reg) : Reg(reg) {}
    Element(const Element&) = default;
    ~Element() = default;
    const Element& operator=(const author::Assigned& value) const {
      set(value);
      return *this;
    }
    Element& operator=(const Element& other) {
      set(other);
      return *this;
    }
  };

  class Iterator {
   public:
    using value_type = Element;
    using difference_type = std::ptrdiff_t;

    Iterator() = default;
    explicit Iterator(const build::Reg* at) : at_(at) {}
    Element operator*() const { return Element(*at_); }
    Iterator& operator++() {
      ++at_;
      return *this;
    }
    Iterator operator++(int) { return Iterator(at_++); }
    bool operator==(const Iterator&) const = default;

   private:
    const build::Reg* at_ = nullptr;
  };

  /// A number of an element, and where it is written.
  struct Index {
    std::int64_t value;
    std::source_location where;

    template <std::integral T>
    Index(T number,  // NOLINT(*-explicit-*)
          std::source_location from = std::source_location::current())
        : value(static_cast<std::int64_t>(number)), where(from) {}
  };

  RegArray() = default;
  RegArray(const std::vector<build::Reg>& regs, isa::Type type) : regs_(regs), type_(type) {}

  /// BadArgument where there is none.
  Element operator[](Index index) const;
  /// `count` of them, from `first` on. BadArgument where there are fewer.
  RegArray slice(Index first, std::size_t count) const;
  Iterator begin() const { return Iterator(regs_.data()); }
  Iterator end() const { return Iterator(regs_.data() + regs_.size()); }
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
Reg scalar(isa::Type type, std::optional<author::Right> init = {}, std::string_view name = {},
           std::source_location where = std::source_location::current());
/// `count` fresh registers; a name makes them a pool of their own.
RegArray array(isa::Type type, std::size_t count, std::string_view name = {},
               std::source_location where = std::source_location::current());
/// `source` converted to `type`, in a fresh register.
Reg from(const author::Right& source, isa::Type type);
/// The accumulator of an m x n wgmma.
RegArray wgmma_frag(std::int64_t m, std::int64_t n, isa::Type type, std::string_view name = {},
                    std::source_location where = std::source_location::current());

}  // namespace reg
}  // namespace pyptx
