// SPDX-License-Identifier: Apache-2.0
//
// Python values as operands. Reg, RegArray, NegPred, PipeRef, Address, int, float, str, list and
// tuple are known here; other files add their classes with register_operand(). What a value cannot
// become is an error that names its type, focused on the argument.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "pyptx/build/tracer.h"
#include "pyptx/ir/operand.h"
#include "pyptx/isa/spelling.h"
#include "pyptx/isa/type.h"

namespace pyptx::python {

namespace nb = nanobind;

/// Turns an instance of a registered class into an operand.
using OperandConverter = ir::Operand (*)(build::Tracer&, nb::handle);
/// Called once per class, from its bind_ function: `register_operand(nb::type<SharedAlloc>(), f)`.
void register_operand(nb::handle type, OperandConverter converter);

/// `value` as an operand; floats stay 64-bit literals, which Tracer::emit fits to the type of
/// their place. `focus` is what a caret goes under. Reports to the tracer and gives
/// an empty operand where there is no conversion.
ir::Operand to_operand(build::Tracer& tracer, nb::handle value,
                       diag::Focus focus = {diag::Focus::Part::Operand, 0});
std::vector<ir::Operand> to_operands(build::Tracer& tracer, nb::handle sequence,
                                     diag::Focus focus = {diag::Focus::Part::Operand, 0});
/// Operand number `index` of an instruction: p | q is a pair where one of its forms takes a pair
/// there, else the predicate that holds where p or q does.
ir::Operand to_operand_of(build::Tracer& tracer, const isa::Spelling& spelling, std::size_t index,
                          nb::handle value);
/// None, a predicate Reg, a NegPred or p | q.
build::Guard to_guard(build::Tracer& tracer, nb::handle value);
/// A name, a `pyptx.types` object or anything else with a `.name`; raises TypeError else.
isa::Type to_type(nb::handle value);
/// `value.name` for tensors and other named things; a str is its own name.
std::string to_name(nb::handle value);

}  // namespace pyptx::python
