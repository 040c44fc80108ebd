// SPDX-License-Identifier: Apache-2.0
//
// Operators on registers. The types choose the instruction: signedness follows the type (s32 >> n
// is arithmetic), a narrower integer is widened by its own signedness, unsigned wins over signed of
// the same width, a literal takes the type of the register beside it. What PTX cannot do in one
// step without changing values silently (integer with float, f16 with f32) is refused, not guessed.
// PTX ISA, "Integer Arithmetic Instructions", "Floating Point Instructions", "Logic and Shift
// Instructions", "setp", "cvt".
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>

#include "pyptx/build/tracer.h"

namespace pyptx::build {

/// What an operator takes: a register or a literal.
class Value {
 public:
  Value(Reg reg) : held_(reg) {}                        // NOLINT(*-explicit-*)
  Value(std::int64_t literal) : held_(literal) {}       // NOLINT(*-explicit-*)
  Value(int literal) : held_(std::int64_t{literal}) {}  // NOLINT(*-explicit-*)
  Value(double literal) : held_(literal) {}             // NOLINT(*-explicit-*)

  const Reg* reg() const { return std::get_if<Reg>(&held_); }
  const std::int64_t* integer() const { return std::get_if<std::int64_t>(&held_); }
  const double* real() const { return std::get_if<double>(&held_); }

 private:
  std::variant<Reg, std::int64_t, double> held_;
};

/// Operators of two operands.
enum class BinaryOp : std::uint8_t { Add, Sub, Mul, Div, Shl, Shr, And, Or, Xor, Max, Min };
/// Those that give a predicate.
enum class Comparison : std::uint8_t { Eq, Ne, Lt, Le, Gt, Ge };

/// a op b in a fresh register; at least one side is a register. Mul keeps the low half; Div is of
/// floats and rounds to nearest (whole quotients: division.h). A shift takes the type of its left
/// side and a 32-bit count.
Reg binary(Tracer& tracer, BinaryOp op, Value a, Value b);
/// destination = destination op b, in the same register and type.
Reg update(Tracer& tracer, BinaryOp op, Reg destination, Value b);
/// A predicate. Floats compare ordered, except Ne, which is true for NaN.
Reg compare(Tracer& tracer, Comparison comparison, Value a, Value b);

/// a where `condition` holds, else b, in a fresh register. Two literals make an s32 where one is
/// negative, an f32 where one is a float, else a u32.
Reg select(Tracer& tracer, Guard condition, Value a, Value b);
/// a * b + c in a fresh register, by one instruction: mad.lo of integers, fma.rn of floats. Where c
/// is twice as wide as a and b, mad.wide, whose product loses nothing.
Reg multiply_add(Tracer& tracer, Value a, Value b, Value c);

/// -a in a fresh register.
Reg negate(Tracer& tracer, Reg a);
/// |a| in a fresh register.
Reg absolute(Tracer& tracer, Reg a);
/// not.bN or not.pred
Reg complement(Tracer& tracer, Reg a);

/// Reports that `what` ("**") is not defined for `type`, with what to write in its place.
void refuse_operator(Tracer& tracer, std::string_view what, isa::Type type);

/// A fresh register of `type`, holding `init` (converted where it is a register of another type).
Reg scalar(Tracer& tracer, isa::Type type, std::optional<Value> init = std::nullopt,
           std::string_view name = {});
/// `source` as `type` in a fresh register: mov between types of one width and one kind or where
/// either is .bN, else cvt (to nearest even; float to integer towards zero).
Reg convert(Tracer& tracer, Value source, isa::Type type);
/// destination = source by mov; a literal takes the destination's type, a register of another
/// width or number kind is refused.
void assign(Tracer& tracer, Reg destination, Value source);

/// `value` as an operand of `type`: the register (widened where it is a narrower integer), or the
/// literal, moved into a register where PTX has no literal of that type.
ir::Operand operand(Tracer& tracer, Value value, isa::Type type, std::string_view what);

/// The type mov, ld.shared, shfl and the like name for registers of `type`: itself, or .bN.
isa::Type move_type(isa::Type type);
/// m * n / 128 registers: the accumulator fragment of one thread of a warpgroup.
std::vector<Reg> wgmma_fragment(Tracer& tracer, std::int64_t m, std::int64_t n, isa::Type type,
                                std::string_view name = {});

}  // namespace pyptx::build
