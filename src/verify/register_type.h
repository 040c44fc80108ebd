// SPDX-License-Identifier: Apache-2.0
//
// Which registers may hold an operand of a type (PTX ISA, "Type Checking", "Operand Size Exceeding
// Instruction-Type Size"), as ptxas applies it.
#pragma once

#include "pyptx/isa/spelling.h"
#include "pyptx/isa/type.h"

namespace pyptx::verify {

/// A signed or an unsigned integer; bits are neither.
bool is_integer(isa::TypeKind kind);

/// May a register declared as `declared` stand where `type` is asked for?
bool holds(isa::Type declared, isa::Type type, isa::Width width, isa::Registers registers);

/// Does the type its author gave a register agree with `type`? A pooled register is declared by
/// its width, so ptxas would take a .u32 register's bits as .f32; its author did not mean that.
bool agrees(isa::Type author, isa::Type type);

/// holds() for an element of a vector: ptxas moves .f32 and .f64 vectors through integer
/// registers too (ld.v4.f32 into .u32).
bool holds_element(isa::Type declared, isa::Type type, isa::Width width, isa::Registers registers);

}  // namespace pyptx::verify
