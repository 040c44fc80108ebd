// SPDX-License-Identifier: Apache-2.0
//
// What the files of tcgen05 share. Not an API.
#pragma once

#include <optional>

#include "pyptx/build/argument.h"
#include "pyptx/build/tcgen05.h"

namespace pyptx::build::tcgen05 {

/// Whether `cta_group` is 1 or 2, and the kernel's; reports it otherwise.
bool check_group(Tracer& tracer, int cta_group);
/// [base+offset]; nothing, and a report on `what`, where the base is not a 32-bit register.
std::optional<ir::Operand> memory_of(Tracer& tracer, const TmemPlace& place, const Argument& what);

}  // namespace pyptx::build::tcgen05
