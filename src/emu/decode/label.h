// SPDX-License-Identifier: Apache-2.0
//
// A word at an instruction of the program: the second place of a finding.
#pragma once

#include <string>
#include <utility>

#include "decode/program.h"

namespace pyptx::emu {

inline diag::Label label_at(const Program& program, const Inst& inst, std::string text) {
  const ir::Instruction& source = program.source(inst);
  return {std::move(text), source.loc, program.module->locations.resolve(source.loc)};
}

}  // namespace pyptx::emu
