// SPDX-License-Identifier: Apache-2.0
//
// The numbers of the table's names, opaque: enough to store, compare and pass them on. Only sources
// that name one (Modifier::Global) include the generated pyptx/isa/ids.h, so that a new modifier
// does not recompile every layer. The value 0 of each is None.
#pragma once

#include <cstdint>

#include "pyptx/isa/type_ids.h"  // generated: Type

namespace pyptx::isa {

enum class Opcode : std::uint16_t;
enum class Modifier : std::uint16_t;
enum class Slot : std::uint16_t;
enum class Sem : std::uint16_t;
enum class SpecialRegister : std::uint16_t;

}  // namespace pyptx::isa
