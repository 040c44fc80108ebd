// SPDX-License-Identifier: Apache-2.0
//
// Memory that the variables of a module take together, against what ptxas admits (isa/limits.h): in
// .const, and in .shared of each entry and the functions it calls. PTX ISA, sections 5.1.3
// (Constant State Space) and 5.1.7 (Shared State Space).
#pragma once

#include "findings.h"

namespace pyptx::verify {

void check_memory_limits(Findings& findings);

}  // namespace pyptx::verify
