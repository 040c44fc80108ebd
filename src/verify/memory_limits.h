// SPDX-License-Identifier: Apache-2.0
//
// Memory that the variables of a module take together, against what ptxas admits: 64 KiB in .const,
// 48 KiB (more for sm_90a and its like) in .shared of each entry. PTX ISA, sections 5.1.3 (Constant
// State Space) and 5.1.7 (Shared State Space).
#pragma once

#include "findings.h"

namespace pyptx::verify {

void check_memory_limits(Findings& findings);

}  // namespace pyptx::verify
