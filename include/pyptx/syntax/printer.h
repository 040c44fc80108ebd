// SPDX-License-Identifier: Apache-2.0
//
// IR -> text. The canonical text of a module: one statement per line, instructions and declarations
// indented by a tab, labels at column 0, integers in decimal, floating-point literals in their
// exact hexadecimal forms. Printing judges nothing and fails never: what the IR holds is what is
// written. PTX ISA, chapters 4 (Syntax) and 11 (Directives).
#pragma once

#include <string>
#include <vector>

#include "pyptx/diag/loc.h"
#include "pyptx/ir/module.h"

namespace pyptx::syntax {

/// The canonical text of `module`. It ends with a newline, is plain ASCII as long as the names and
/// raw statements in the module are, and is linear in the size of the module to produce.
std::string print(const ir::Module& module);

/// The same text, and where each of its lines came from: (*line_locs)[n - 1] is the location of
/// line n, Loc::None for lines that nobody wrote (the header, braces, pooled registers). This is
/// what maps an assembler's message back to the author's line. `line_locs` may be null.
std::string print(const ir::Module& module, std::vector<diag::Loc>* line_locs);

/// The text of one instruction without indentation and newline: "@%p1 bra LOOP;".
std::string print(const ir::Module& module, const ir::Function& function,
                  const ir::Instruction& instruction);
/// The text of one operand: "[%rd1+16]".
std::string print(const ir::Module& module, const ir::Function& function,
                  const ir::Operand& operand);

}  // namespace pyptx::syntax
