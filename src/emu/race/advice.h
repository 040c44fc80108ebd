// SPDX-License-Identifier: Apache-2.0
//
// What reports say would have helped, where the detector of one cluster is not needed to know it.
#pragma once

#include <string>

#include "pyptx/diag/diagnostic.h"

namespace pyptx::emu {

/// Adds "help: REASON: INSTRUCTION".
void help(diag::Diagnostic& diagnostic, std::string reason, std::string instruction);
/// Of accesses of two clusters that nothing orders.
void advise_clusters(diag::Diagnostic& diagnostic);
/// Of stores of one value that nothing orders.
void advise_same_value(diag::Diagnostic& diagnostic);

}  // namespace pyptx::emu
