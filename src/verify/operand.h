// SPDX-License-Identifier: Apache-2.0
//
// One operand against one OperandSpec, and the words for what went wrong. The check is the hot
// path and says only which rule failed; describe() runs for refused instructions.
#pragma once

#include <cstdint>
#include <span>

#include "pyptx/diag/diagnostic.h"
#include "pyptx/ir/module.h"
#include "pyptx/isa/spelling.h"

namespace pyptx::verify {

enum class Misfit : std::uint8_t { None, Kind, Type, Elements, Range, Space };

struct Scope {
  const ir::Module& module;
  const ir::Function& function;
};

Misfit check(const Scope& scope, const isa::OperandSpec& spec, const ir::Operand& operand);

/// The state space of the variable called `name`, if the module declares it.
std::optional<ir::Space> space_of(const Scope& scope, ir::Symbol name);

/// Integer literals that `spec` admits.
bool admits_literal(const isa::OperandSpec& spec, std::int64_t value);

/// Whether a floating-point literal may stand there: the 16-bit formats and integers have none.
bool takes_float(const isa::OperandSpec& spec);

/// The diagnostic for operand number `index` of an instruction spelled `spelling`.
diag::Diagnostic describe(const Scope& scope, const isa::OperandSpec& spec,
                          const ir::Operand& operand, Misfit misfit, std::size_t index,
                          const isa::Spelling& spelling);

}  // namespace pyptx::verify
