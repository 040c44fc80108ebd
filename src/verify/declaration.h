// SPDX-License-Identifier: Apache-2.0
//
// Variables as declarations: where each state space may be declared, types, sizes, linkage and
// initial values. PTX ISA, sections 5.1 (State Spaces), 5.3 (Texture Sampler and Surface Types) and
// 5.4 (Variables).
#pragma once

#include <cstdint>

#include "findings.h"

namespace pyptx::verify {

/// Whether the variable stands at module level or in a body.
enum class Level : std::uint8_t { Module, Body };

void check_variable(Findings& findings, const ir::Variable& variable, Level level);

/// Vector and type against the state space; also for parameters.
void check_type(Findings& findings, const ir::Variable& variable);

/// A .reg of the body that declares vectors.
void check_register(Findings& findings, ir::Symbol name, isa::Type type, std::uint8_t vector,
                    diag::Loc loc);

}  // namespace pyptx::verify
