// SPDX-License-Identifier: Apache-2.0
#include "pyptx/author/copy.h"

#include <span>

#include "pyptx/build/cp_async.h"

namespace pyptx::ptx {

using author::at;

namespace tma {
namespace core = build::tma;
namespace {
std::span<const Index> all(const Coordinates& coordinates) {
  return {coordinates.begin(), coordinates.size()};
}
}  // namespace

void load(const Place& destination, const Reg& map, Coordinates coordinates, const Place& bar,
          const LoadOptions& options, Where where) {
  core::load(at(where), coordinates.size(), destination, map, all(coordinates), bar, options);
}
void store(const Reg& map, Coordinates coordinates, const Place& source,
           const StoreOptions& options, Where where) {
  core::store(at(where), coordinates.size(), map, all(coordinates), source, options);
}
void reduce(std::string_view op, const Reg& map, Coordinates coordinates, const Place& source,
            const StoreOptions& options, Where where) {
  core::reduce(at(where), op, coordinates.size(), map, all(coordinates), source, options);
}
void prefetch(const Reg& map, Coordinates coordinates, const LoadOptions& options, Where where) {
  core::prefetch(at(where), coordinates.size(), map, all(coordinates), options);
}
void gather4(const Place& destination, const Reg& map, Coordinates coordinates, const Place& bar,
             const LoadOptions& options, Where where) {
  core::gather4(at(where), destination, map, all(coordinates), bar, options);
}
void scatter4(const Reg& map, Coordinates coordinates, const Place& source,
              const StoreOptions& options, Where where) {
  core::scatter4(at(where), map, all(coordinates), source, options);
}
void prefetch_gather4(const Reg& map, Coordinates coordinates, const LoadOptions& options,
                      Where where) {
  core::prefetch_gather4(at(where), map, all(coordinates), options);
}
void commit_group(const Guard& guard, Where where) { core::commit_group(at(where), guard); }
void wait_group(std::int64_t pending, bool read, Where where) {
  core::wait_group(at(where), pending, read);
}
}  // namespace tma

namespace bulk {
namespace core = build::tma;

void load(const Place& destination, const Address& source, const Index& bytes, const Place& bar,
          const std::optional<Index>& multicast_mask, const Guard& guard, Where where) {
  core::load_bytes(at(where), destination, source.operand, bytes, bar, multicast_mask, guard);
}
void store(const Address& destination, const Place& source, const Index& bytes, const Guard& guard,
           Where where) {
  core::store_bytes(at(where), destination.operand, source, bytes, guard);
}
void reduce(std::string_view op, isa::Type type, const Address& destination, const Place& source,
            const Index& bytes, const Guard& guard, Where where) {
  core::reduce_bytes(at(where), op, type, destination.operand, source, bytes, guard);
}
void prefetch(const Address& source, const Index& bytes, const Guard& guard, Where where) {
  core::prefetch_bytes(at(where), source.operand, bytes, guard);
}
void to_cluster(const Reg& destination, const Place& source, const Index& bytes, const Reg& bar,
                const Guard& guard, Where where) {
  core::copy_to_cluster(at(where), destination, source, bytes, bar, guard);
}
}  // namespace bulk

namespace cp_async {
namespace core = build::cp_async;

void ca(const Place& destination, const Address& source, std::int64_t bytes,
        const std::optional<Index>& source_bytes, const Guard& guard, Where where) {
  core::copy(at(where), core::Cache::All, destination, source.operand, bytes, source_bytes, guard);
}
void cg(const Place& destination, const Address& source, std::int64_t bytes,
        const std::optional<Index>& source_bytes, const Guard& guard, Where where) {
  core::copy(at(where), core::Cache::Global, destination, source.operand, bytes, source_bytes,
             guard);
}
void commit_group(Where where) { core::commit_group(at(where)); }
void wait_group(std::int64_t pending, Where where) { core::wait_group(at(where), pending); }
void wait_all(Where where) { core::wait_all(at(where)); }
}  // namespace cp_async
}  // namespace pyptx::ptx
