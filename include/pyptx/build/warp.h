// SPDX-License-Identifier: Apache-2.0
//
// Warp-wide reductions and CTA barriers.
// PTX ISA, "shfl.sync", "Parallel Synchronization and Communication Instructions".
#pragma once

#include <cstdint>
#include <optional>

#include "pyptx/build/operators.h"
#include "pyptx/build/tracer.h"

namespace pyptx::build {

/// Combines `value` over each group of `width` lanes (a power of two up to 32) by butterfly
/// shuffles, in place: every lane of the group ends with the result. All 32 lanes must take part.
Reg warp_reduce(Tracer& tracer, BinaryOp op, Reg value, std::int64_t width = 32);

/// bar.sync id {, count}
void bar_sync(Tracer& tracer, Value id, std::optional<Value> count = std::nullopt);
/// bar.arrive id, count
void bar_arrive(Tracer& tracer, Value id, Value count);
/// elect.sync destination|predicate, mask; without a destination `_`.
void elect_sync(Tracer& tracer, std::optional<Reg> destination, Reg predicate, Value mask);

}  // namespace pyptx::build
