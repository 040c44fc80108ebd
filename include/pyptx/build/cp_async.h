// SPDX-License-Identifier: Apache-2.0
//
// cp.async: small asynchronous copies from global to shared memory by the threads themselves, and
// their groups (PTX ISA, "Data Movement: Non-bulk copy"). Bulk copies are tma.h's.
#pragma once

#include <cstdint>
#include <optional>

#include "pyptx/build/shared.h"
#include "pyptx/build/tracer.h"

namespace pyptx::build::cp_async {

/// Through L1, or past it.
enum class Cache : std::uint8_t { All, Global };  // .ca, .cg

/// Copies `bytes` (4, 8 or 16; 16 for Cache::Global) from the global address `source` ([register
/// + offset]). With `source_bytes` only so many are read and the rest is filled with zeros.
void copy(Tracer& tracer, Cache cache, const SharedPlace& destination, ir::Operand source,
          std::int64_t bytes, std::optional<Index> source_bytes = {}, Guard guard = {});
/// Closes the group of the copies issued so far.
void commit_group(Tracer& tracer);
/// Waits until at most `pending` of the newest groups are not complete.
void wait_group(Tracer& tracer, std::int64_t pending);
/// Waits for every copy of the thread.
void wait_all(Tracer& tracer);

}  // namespace pyptx::build::cp_async
