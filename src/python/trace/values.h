// SPDX-License-Identifier: Apache-2.0
//
// What Python authors hold besides a Reg (which is build::Reg itself): negated predicates, pairs,
// addresses, arrays, types. Plain values; the tracer they belong to travels in the registers.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pyptx/build/operators.h"
#include "pyptx/build/tracer.h"
#include "pyptx/ir/operand.h"

namespace pyptx::python {

namespace nb = nanobind;

/// !p
struct NegPred {
  build::Reg reg;
};

/// first|second: registers, "_", or a vector.
struct PipeRef {
  nb::object first;
  nb::object second;
};

/// [base + offset], or [base, part, ...] where there are parts (a tuple).
struct Address {
  ir::Operand base;
  std::int64_t offset = 0;
  nb::object parts{};
};

struct RegArray {
  std::vector<build::Reg> regs;
  isa::Type type{};
  std::string base;  // the prefix of the registers' names, where they have one of their own
};

/// A type of pyptx.types.
struct TypeObject {
  isa::Type type{};
};

/// The one Python object of `type`.
nb::object type_object(isa::Type type);
/// The name in the text, such as "%r3"; for a register of another trace a phrase that says so.
std::string name_of(build::Reg reg);

/// The predicate that holds where one of `pair` does; reports a pair of anything else.
build::Reg disjunction(build::Tracer& tracer, const PipeRef& pair);
/// Whether `value` is a register, a predicate or a number, so that it may stand in an expression.
bool is_value(nb::handle value);
/// destination = value. A temporary's instruction is made to write the destination itself.
void write_register(build::Reg destination, nb::handle value);
/// A register or number for an operator; nullopt for anything else.
std::optional<build::Value> to_value(build::Tracer& tracer, nb::handle value);
/// The same where nothing else will do: reports and gives 0.
build::Value need_value(build::Tracer& tracer, nb::handle value);

}  // namespace pyptx::python
