// SPDX-License-Identifier: Apache-2.0
//
// Parameters, special registers, addresses and plain loads and stores.
// PTX ISA, "Special Registers", "Data Movement and Conversion Instructions".
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "pyptx/build/operators.h"
#include "pyptx/build/tracer.h"

namespace pyptx::build {

/// The value of a special register in a fresh register; component 1 to 3 for .x .y .z, 0 for none.
Reg special(Tracer& tracer, isa::SpecialRegister which, std::uint8_t component = 0);
/// The same by name: "%tid.x", "laneid".
Reg special(Tracer& tracer, std::string_view name);
/// The operand called "%tid.x"; nullopt where the name is no special register's.
std::optional<ir::Operand> special_operand(std::string_view name);

/// ld.param of parameter `name` into `destination` or a fresh register.
Reg param(Tracer& tracer, isa::Type type, std::string_view name,
          std::optional<Reg> destination = std::nullopt);
/// The global address that parameter `name` holds: ld.param.u64 and cvta.to.global.u64.
Reg global_pointer(Tracer& tracer, std::string_view name);
/// cvta.param.u64: the generic address of a place in parameter space.
Reg cvta_param(Tracer& tracer, ir::Operand source, std::optional<Reg> destination = std::nullopt);
/// cvta.to.global.u64
Reg cvta_to_global(Tracer& tracer, ir::Operand source,
                   std::optional<Reg> destination = std::nullopt);

/// ld.space.cache.type; a vector destination gives ld.vN. `address` may be a bare register.
void load(Tracer& tracer, isa::Type type, ir::Operand destination, ir::Operand address,
          std::string_view space = "global", std::string_view cache = {}, Guard guard = {});
void store(Tracer& tracer, isa::Type type, ir::Operand address, ir::Operand source,
           std::string_view space = "global", std::string_view cache = {}, Guard guard = {});

/// Declares a variable; `space` is "shared", "local", "global", "const"; `linkage` "extern",
/// "visible", "weak", "common" or empty. count nullopt: a scalar; 0: name[].
ir::Operand variable(Tracer& tracer, std::string_view space, isa::Type type, std::string_view name,
                     std::optional<std::uint64_t> count, std::uint32_t align,
                     std::string_view linkage);

/// A Value as an operand without a type to fit: registers and literals as they are.
ir::Operand as_operand(const Value& value);

}  // namespace pyptx::build
