// SPDX-License-Identifier: Apache-2.0
//
// Bulk copies by the tensor memory accelerator: boxes of a tensor map (PTX ISA,
// "cp.async.bulk.tensor", "cp.reduce.async.bulk.tensor", "cp.async.bulk.prefetch.tensor"), plain
// runs of bytes ("cp.async.bulk" and its like), and bulk groups. A load completes on an mbarrier,
// everything else in a bulk group. What the map holds is not known here.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pyptx/build/shared.h"
#include "pyptx/build/tracer.h"

namespace pyptx::build::tma {

/// How a box is loaded.
struct LoadOptions {
  std::optional<Index> multicast_mask{};  // 16 bits: a CTA of the cluster each
  int cta_group = 1;                      // 2: a pair of CTAs (sm_100a)
  Guard guard{};
  std::string mode = "tile";          // "im2col", "im2col::w", "im2col::w::128"
  std::vector<Index> offsets{};       // im2col: one for each dimension but two; ::w: two
  std::optional<Reg> cache_policy{};  // 64 bits, of createpolicy
};
/// How a box is stored or reduced.
struct StoreOptions {
  Guard guard{};
  std::string mode = "tile";  // "im2col_no_offs"
  std::optional<Reg> cache_policy{};
};

/// Loads the box at `coordinates` (innermost first, 1 to 5 of them; `rank` says how many the
/// author means) of the map at address `map`.
void load(Tracer& tracer, std::size_t rank, const SharedPlace& destination, Reg map,
          std::span<const Index> coordinates, const SharedPlace& barrier,
          const LoadOptions& options = {});
/// Stores shared memory to the box at `coordinates`.
void store(Tracer& tracer, std::size_t rank, Reg map, std::span<const Index> coordinates,
           const SharedPlace& source, const StoreOptions& options = {});
/// Combines the box in memory with `source` by `op`: "add", "min", "max", "inc", "dec", "and",
/// "or", "xor".
void reduce(Tracer& tracer, std::string_view op, std::size_t rank, Reg map,
            std::span<const Index> coordinates, const SharedPlace& source,
            const StoreOptions& options = {});
/// Brings the box into the L2 cache.
void prefetch(Tracer& tracer, std::size_t rank, Reg map, std::span<const Index> coordinates,
              const LoadOptions& options = {});

/// Four rows of a two-dimensional map: `coordinates` are the column and the four rows.
void gather4(Tracer& tracer, const SharedPlace& destination, Reg map,
             std::span<const Index> coordinates, const SharedPlace& barrier,
             const LoadOptions& options = {});
/// Four rows of `source` to those of a matrix.
void scatter4(Tracer& tracer, Reg map, std::span<const Index> coordinates,
              const SharedPlace& source, const StoreOptions& options = {});
/// The four rows of gather4 into the L2 cache.
void prefetch_gather4(Tracer& tracer, Reg map, std::span<const Index> coordinates,
                      const LoadOptions& options = {});

/// The coordinates of element (row, column) of a matrix seen as (64 elements, rows, columns / 64).
std::vector<Index> blocked_coordinates(Tracer& tracer, const Index& row, const Index& column);

/// Copies `bytes` (a multiple of 16) from the global address in `source`, into every CTA of the
/// mask where there is one.
void load_bytes(Tracer& tracer, const SharedPlace& destination, ir::Operand source,
                const Index& bytes, const SharedPlace& barrier,
                std::optional<Index> multicast_mask = {}, Guard guard = {});
/// Shared memory into global memory.
void store_bytes(Tracer& tracer, ir::Operand destination, const SharedPlace& source,
                 const Index& bytes, Guard guard = {});
/// Combines `bytes` in global memory with `source`, element by element of `type`.
void reduce_bytes(Tracer& tracer, std::string_view op, isa::Type type, ir::Operand destination,
                  const SharedPlace& source, const Index& bytes, Guard guard = {});
/// Global memory into the L2 cache.
void prefetch_bytes(Tracer& tracer, ir::Operand source, const Index& bytes, Guard guard = {});
/// Copies within the cluster: `destination` and `barrier` are addresses in another CTA.
void copy_to_cluster(Tracer& tracer, Reg destination, const SharedPlace& source, const Index& bytes,
                     Reg barrier, Guard guard = {});

/// Closes the bulk group of the stores issued so far.
void commit_group(Tracer& tracer, Guard guard = {});
/// Waits until at most `pending` of the newest bulk groups are not complete; with `read` until
/// their sources have been read.
void wait_group(Tracer& tracer, std::int64_t pending, bool read = false);

}  // namespace pyptx::build::tma
