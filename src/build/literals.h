// SPDX-License-Identifier: Apache-2.0
//
// Floating-point literals in the format of their place. PTX writes f32 as 0fXXXXXXXX and f64 as
// 0dXXXXXXXXXXXXXXXX and has no literal for the 16-bit formats: their bits go through a mov
// (PTX ISA, "Floating-Point Constants").
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "pyptx/ir/operand.h"
#include "pyptx/isa/type.h"

namespace pyptx::build {

/// A Float64 literal as the literal an operand of `type` takes; unchanged where there is none.
ir::Operand fit_float(ir::Operand literal, isa::Type type);

/// `value` rounded to nearest even, as bits.
std::uint16_t f16_bits(double value);
std::uint16_t bf16_bits(double value);
/// The bits of `value` in a 16-bit format or a pair of one (both halves); nullopt for other types.
std::optional<std::uint32_t> half_bits(double value, isa::Type type);
/// Whether a finite `value` would become infinite in the float format `type`.
bool overflows(double value, isa::Type type);
/// The shortest text that reads back as `value`, for messages.
std::string text_of(double value);

}  // namespace pyptx::build
