// SPDX-License-Identifier: Apache-2.0
//
// The rules of whole modules: header, linkage and redeclaration, variables and parameters, function
// directives and pragmas, labels, calls against prototypes, parameter access, and a few warnings
// about the flow. Single instructions are the judge's (instruction.h); names were resolved by who
// made the module. It refuses what ptxas refuses, warns where ptxas warns, and runs once over the
// module. PTX ISA, chapters 5 (State Spaces, Types, and Variables), 7 (ABI) and 11 (Directives).
#pragma once

#include <cstddef>

#include "pyptx/diag/diagnostic.h"
#include "pyptx/ir/module.h"

namespace pyptx::verify {

/// What is looked for.
struct ModuleOptions {
  /// Findings below an error: warnings, and lints among them.
  bool warnings = true;
  bool lints = true;
  /// No more than this many are kept.
  std::size_t max_diagnostics = 100;
};

/// Whether the table has the version and the target of the module. Without them there is nothing to
/// judge against.
bool has_known_header(const ir::Module& module);

/// What is wrong with `module`, in the order of its parts; empty when all is well, and where the
/// header is not known. The module should have been read or written with an InstructionJudge,
/// which chose the form of each instruction.
diag::Diagnostics verify_module(const ir::Module& module, const ModuleOptions& options = {});

}  // namespace pyptx::verify
