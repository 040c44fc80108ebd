// SPDX-License-Identifier: Apache-2.0
//
// What the bindings of instructions and functions take from the analyses.
#pragma once

#include <nanobind/nanobind.h>

#include "bind/parts.h"
#include "module/blocks.h"

namespace pyptx::python {

/// `Block`, and what analyses add to `Instruction` and `Function`.
void bind_blocks(nb::module_& m, nb::class_<InstructionPart, Part>& instruction,
                 nb::class_<FunctionPart, Part>& function);

}  // namespace pyptx::python
