// SPDX-License-Identifier: Apache-2.0
//
// Bulk copies by the tensor memory accelerator: boxes of a tensor map (PTX ISA,
// "cp.async.bulk.tensor"), plain runs of bytes ("cp.async.bulk"), and bulk groups. A load completes
// on an mbarrier, a store in a bulk group. What the map holds is not known here.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "pyptx/build/shared.h"
#include "pyptx/build/tracer.h"

namespace pyptx::build::tma {

struct LoadOptions {
  std::optional<Index> multicast_mask;  // 16 bits: a CTA of the cluster each
  int cta_group = 1;                    // 2: a pair of CTAs (sm_100a)
  Guard guard;
};

/// Loads the box at `coordinates` (innermost first, 1 to 5 of them; `rank` says how many the
/// author means) of the map at address `map`.
void load(Tracer& tracer, std::size_t rank, const SharedPlace& destination, Reg map,
          std::span<const Index> coordinates, const SharedPlace& barrier, LoadOptions options = {});
void store(Tracer& tracer, std::size_t rank, Reg map, std::span<const Index> coordinates,
           const SharedPlace& source, Guard guard = {});

/// The coordinates of element (row, column) of a matrix seen as (64 elements, rows, columns / 64).
std::vector<Index> blocked_coordinates(Tracer& tracer, const Index& row, const Index& column);

/// Copies `bytes` (a multiple of 16) from the global address in `source`.
void load_bytes(Tracer& tracer, const SharedPlace& destination, ir::Operand source,
                const Index& bytes, const SharedPlace& barrier, Guard guard = {});
void store_bytes(Tracer& tracer, ir::Operand destination, const SharedPlace& source,
                 const Index& bytes, Guard guard = {});

void commit_group(Tracer& tracer, Guard guard = {});
/// Waits until at most `pending` of the newest bulk groups are not complete; with `read` until
/// their sources have been read.
void wait_group(Tracer& tracer, std::int64_t pending, bool read = false);

}  // namespace pyptx::build::tma
