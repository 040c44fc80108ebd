// SPDX-License-Identifier: Apache-2.0
//
// The few opcodes that have rules beyond their row of the table: those that move control and those
// that may name a parameter.
#pragma once

#include <cstdint>

#include "pyptx/isa/id.h"

namespace pyptx::verify {

enum class OpcodeClass : std::uint8_t {
  Other,
  Branch,       // bra
  TableBranch,  // brx.idx
  Call,         // call
  Return,       // ret, exit
  Load,         // ld
  Store,        // st
  Move,         // mov
};

OpcodeClass class_of(isa::Opcode opcode);

}  // namespace pyptx::verify
