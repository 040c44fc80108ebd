// SPDX-License-Identifier: Apache-2.0
//
// Output and assertions of a running kernel, by the calls that the CUDA run time answers: vprintf
// and __assertfail (CUDA C++ Programming Guide, "Formatted Output" and "Assertion"; the calling
// convention is the one that nvcc emits).
#pragma once

#include <span>
#include <string_view>

#include "pyptx/build/operators.h"
#include "pyptx/build/tracer.h"

namespace pyptx::build {

/// printf(format, values...). Every conversion is held against the type of its value: %d %i %u %x
/// %X %o %c take integers of up to 32 bits and predicates, with l or ll 64-bit ones, %f %e %g %a
/// floats, %p and %s 64-bit addresses; a * for width or precision takes an integer.
void print(Tracer& tracer, std::string_view format, std::span<const Value> values,
           Guard guard = {});

/// Where `condition` does not hold, the run time prints file, line, kernel, block, thread and
/// `message`, and the launch fails with an assertion error, which an ordinary trap cannot say.
void assert_that(Tracer& tracer, Guard condition, std::string_view message);

}  // namespace pyptx::build
