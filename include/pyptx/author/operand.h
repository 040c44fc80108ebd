// SPDX-License-Identifier: Apache-2.0
//
// What the operands of a generated call may be. Each parameter says which kinds its place takes, so
// a register where an address belongs does not compile; types, vector lengths and ranges are the
// judge's to check when the instruction is inserted.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <source_location>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pyptx/author/reg.h"
#include "pyptx/author/size.h"
#include "pyptx/build/mbarrier.h"
#include "pyptx/build/shared.h"

namespace pyptx {

/// A place in memory, [base+offset], or with coordinates: [map, {x, y}].
struct Address {
  ir::Operand operand;
};

/// Two destinations, first|second.
struct Pair {
  ir::Operand operand;
};

/// A list in parentheses, of a call.
struct Parenthesized {
  ir::Operand operand;
};

namespace author {

/// Kinds of operands; the names are those of the Python stubs.
enum class Is : std::uint16_t {
  Register =
      1,  // or text: its name, a variable, a label, a special register, "_", "-%r1", "%r1.b0"
  NegPred = 2,
  Vector = 4,
  Place = 8,
  Integer = 16,
  Real = 32,
  Parenthesized = 64,
  Pair = 128,
  Parts = 256,
};
/// Either kind.
constexpr Is operator|(Is a, Is b) {
  return static_cast<Is>(static_cast<std::uint16_t>(a) | static_cast<std::uint16_t>(b));
}
/// Whether one of `any` is among `kinds`.
constexpr bool takes(Is kinds, Is any) {
  return (static_cast<std::uint16_t>(kinds) & static_cast<std::uint16_t>(any)) != 0;
}

/// An operand; one with a name is looked up when the instruction is known.
struct Operand {
  ir::Operand operand;
  std::string_view name;
};

/// An element of a vector.
struct Element : Operand {
  template <RegisterLike T>
  Element(const T& reg) : Operand{static_cast<build::Reg>(reg), {}} {}  // NOLINT(*-explicit-*)
  template <std::integral T>
  Element(T value)  // NOLINT(*-explicit-*)
      : Operand{ir::Operand::integer(static_cast<std::int64_t>(value)), {}} {}
  template <std::floating_point T>
  Element(T value)  // NOLINT(*-explicit-*)
      : Operand{ir::Operand::f64(static_cast<double>(value)), {}} {}
  Element(const char* text) : Operand{{}, text} {}  // NOLINT(*-explicit-*)
};

using Where = std::source_location;

/// {a, b, ...}
ir::Operand vector(std::span<const Element> elements, const Where& where);
ir::Operand vector(std::span<const build::Reg> regs, const Where& where);
/// [shared]
ir::Operand place(const build::SharedPlace& shared, const Where& where);

/// A parameter whose place takes `kKinds`.
template <Is kKinds>
struct Arg : Operand {
  static constexpr bool takes(Is any) { return author::takes(kKinds, any); }

  // NOLINTBEGIN(*-explicit-*): operands are written as they are.
  template <RegisterLike T>
    requires(Arg::takes(Is::Register | Is::Pair))
  Arg(const T& reg) : Operand{static_cast<build::Reg>(reg), {}} {}
  template <std::integral T>
    requires(Arg::takes(Is::Integer | Is::Real))
  Arg(T value) : Operand{ir::Operand::integer(static_cast<std::int64_t>(value)), {}} {}
  template <std::floating_point T>
    requires(Arg::takes(Is::Real))
  Arg(T value) : Operand{ir::Operand::f64(static_cast<double>(value)), {}} {}
  Arg(const Size& size)
    requires(Arg::takes(Is::Register | Is::Integer))
      : Operand{size, {}} {}
  Arg(const char* text)
    requires(Arg::takes(Is::Register))
      : Operand{{}, text} {}
  Arg(const std::string& text)
    requires(Arg::takes(Is::Register))
      : Operand{{}, text} {}
  Arg(const Guard& negated)
    requires(Arg::takes(Is::NegPred))
      : Operand{negated_operand(negated), {}} {}
  Arg(const Address& address)
    requires(Arg::takes(Is::Place | Is::Parts))
      : Operand{address.operand, {}} {}
  Arg(const build::SharedView& view, const Where& where = Where::current())
    requires(Arg::takes(Is::Place))
      : Operand{author::place(view.place, where), {}} {}
  Arg(const build::MbarrierRef& barrier, const Where& where = Where::current())
    requires(Arg::takes(Is::Place))
      : Operand{author::place(barrier.place, where), {}} {}
  Arg(std::initializer_list<Element> elements, const Where& where = Where::current())
    requires(Arg::takes(Is::Vector))
      : Operand{vector(std::span(elements.begin(), elements.size()), where), {}} {}
  Arg(const RegArray& array, const Where& where = Where::current())
    requires(Arg::takes(Is::Vector))
      : Operand{vector(std::span<const build::Reg>(array.regs()), where), {}} {}
  Arg(const std::vector<build::Reg>& regs, const Where& where = Where::current())
    requires(Arg::takes(Is::Vector))
      : Operand{vector(std::span<const build::Reg>(regs), where), {}} {}
  Arg(const Pair& pair)
    requires(Arg::takes(Is::Pair))
      : Operand{pair.operand, {}} {}
  Arg(const Parenthesized& list)
    requires(Arg::takes(Is::Parenthesized))
      : Operand{list.operand, {}} {}
  // NOLINTEND(*-explicit-*)

 private:
  static ir::Operand negated_operand(const Guard& guard) {
    ir::Operand predicate = guard.predicate.value_or(build::Reg{});
    if (guard.negated) predicate.kind = ir::OperandKind::NotRegister;
    return predicate;
  }
};

}  // namespace author

namespace ptx {

/// [base+offset]
Address addr(const build::Reg& base, std::int64_t offset = 0,
             author::Where where = author::Where::current());
/// [variable+offset]
Address addr(std::string_view variable, std::int64_t offset = 0,
             author::Where where = author::Where::current());
/// [shared+offset]
Address addr(const build::SharedPlace& shared, std::int64_t offset = 0,
             author::Where where = author::Where::current());
/// [map, {c0, c1, ...}]
Address addr(const build::Reg& map, std::initializer_list<author::Element> coordinates,
             author::Where where = author::Where::current());
/// first|second; "_" drops one.
Pair pipe(const author::Element& first, const author::Element& second,
          author::Where where = author::Where::current());
/// (a, b, ...)
Parenthesized list(std::initializer_list<author::Element> elements,
                   author::Where where = author::Where::current());

}  // namespace ptx
}  // namespace pyptx
