// SPDX-License-Identifier: Apache-2.0
//
// Branches to labels of the tracer's own. Not an API.
#pragma once

#include "pyptx/build/tracer.h"

namespace pyptx::build {

void branch_to(Tracer& tracer, ir::LabelId label, Guard guard = {});
Guard inverse(Guard guard);

}  // namespace pyptx::build
