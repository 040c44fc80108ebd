// SPDX-License-Identifier: Apache-2.0
//
// Asynchronous copies of pyptx::ptx: of boxes by tensor maps, of bytes, and the small ones of
// Ampere. See pyptx/build/tma.h and cp_async.h.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <source_location>
#include <string_view>

#include "pyptx/author/operand.h"
#include "pyptx/author/smem.h"
#include "pyptx/build/tma.h"

namespace pyptx::ptx {

using Where = std::source_location;

namespace tma {
using author::Place;
using build::tma::LoadOptions;
using build::tma::StoreOptions;
/// The corner of a box in the tensor, innermost dimension first.
using Coordinates = std::initializer_list<Index>;  // innermost first

/// The box of `map` at `coordinates` into shared memory; completes on `bar`.
void load(const Place& destination, const Reg& map, Coordinates coordinates, const Place& bar,
          const LoadOptions& options = {}, Where where = Where::current());
/// Shared memory to the box of `map` at `coordinates`, in the bulk group of the thread.
void store(const Reg& map, Coordinates coordinates, const Place& source,
           const StoreOptions& options = {}, Where where = Where::current());
/// The tensor's elements op= those of shared memory: "add", "min", "and", ...
void reduce(std::string_view op, const Reg& map, Coordinates coordinates, const Place& source,
            const StoreOptions& options = {}, Where where = Where::current());
/// The box of `map` at `coordinates` into the L2 cache.
void prefetch(const Reg& map, Coordinates coordinates, const LoadOptions& options = {},
              Where where = Where::current());
/// Four rows of a matrix, {column, row, row, row, row}.
void gather4(const Place& destination, const Reg& map, Coordinates coordinates, const Place& bar,
             const LoadOptions& options = {}, Where where = Where::current());
/// Four rows of shared memory to those of a matrix.
void scatter4(const Reg& map, Coordinates coordinates, const Place& source,
              const StoreOptions& options = {}, Where where = Where::current());
/// The four rows of gather4 into the L2 cache.
void prefetch_gather4(const Reg& map, Coordinates coordinates, const LoadOptions& options = {},
                      Where where = Where::current());
/// Closes the bulk group of the stores that the thread has issued so far.
void commit_group(const Guard& guard = {}, Where where = Where::current());
/// Waits until at most `pending` bulk groups are unfinished, or, with `read`, unread.
void wait_group(std::int64_t pending, bool read = false, Where where = Where::current());
}  // namespace tma

/// cp.async.bulk without a map: a multiple of 16 bytes, between a global address and shared memory.
namespace bulk {
using author::Place;

/// Global memory into shared memory; completes on `bar`.
void load(const Place& destination, const Address& source, const Index& bytes, const Place& bar,
          const std::optional<Index>& multicast_mask = {}, const Guard& guard = {},
          Where where = Where::current());
/// Shared memory into global memory, in the bulk group of the thread.
void store(const Address& destination, const Place& source, const Index& bytes,
           const Guard& guard = {}, Where where = Where::current());
/// Global memory op= shared memory, element by element: "add", "min", "and", ...
void reduce(std::string_view op, isa::Type type, const Address& destination, const Place& source,
            const Index& bytes, const Guard& guard = {}, Where where = Where::current());
/// Global memory into the L2 cache.
void prefetch(const Address& source, const Index& bytes, const Guard& guard = {},
              Where where = Where::current());
/// To `destination`, an address in another CTA (cluster::map_shared); completes on `bar` there.
void to_cluster(const Reg& destination, const Place& source, const Index& bytes, const Reg& bar,
                const Guard& guard = {}, Where where = Where::current());
}  // namespace bulk

namespace cp_async {
using author::Place;

/// `bytes` (4, 8 or 16) from a global address; with `source_bytes` the rest is zeros.
void ca(const Place& destination, const Address& source, std::int64_t bytes,
        const std::optional<Index>& source_bytes = {}, const Guard& guard = {},
        Where where = Where::current());
/// Past the L1 cache, 16 bytes at a time.
void cg(const Place& destination, const Address& source, std::int64_t bytes = 16,
        const std::optional<Index>& source_bytes = {}, const Guard& guard = {},
        Where where = Where::current());
/// Closes the group of the copies that the thread has issued so far.
void commit_group(Where where = Where::current());
/// Waits until at most `pending` groups are unfinished.
void wait_group(std::int64_t pending, Where where = Where::current());
/// Waits for every copy of the thread.
void wait_all(Where where = Where::current());
}  // namespace cp_async
}  // namespace pyptx::ptx
