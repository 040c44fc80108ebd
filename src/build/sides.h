// SPDX-License-Identifier: Apache-2.0
//
// What the operators ask of their two sides. Not an API.
#pragma once

#include <string_view>

#include "pyptx/build/operators.h"

namespace pyptx::build {

/// The type both sides of `what` are brought to, or None after a report; one is a register.
isa::Type common_type(Tracer& tracer, std::string_view what, const Value& a, const Value& b);
/// Where order matters a literal outside the type would be read as another number: u32 < -1.
void check_order(Tracer& tracer, const Value& value, isa::Type type);

}  // namespace pyptx::build
