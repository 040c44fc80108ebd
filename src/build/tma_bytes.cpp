// SPDX-License-Identifier: Apache-2.0
//
// Copies of bytes without a tensor map, and bulk groups. PTX ISA, "cp.async.bulk",
// "cp.reduce.async.bulk", "cp.async.bulk.prefetch", "cp.async.bulk.wait_group".
#include <string>
#include <vector>

#include "arguments.h"
#include "pyptx/build/tma.h"
#include "pyptx/support/concat.h"

namespace pyptx::build::tma {
namespace {

using ir::Operand;
using support::concat;

bool check_bytes(Tracer& tracer, const Index& bytes) {
  if (!bytes.is_constant()) return check_word(tracer, bytes, {"the bytes of a bulk copy", "bytes"});
  if (bytes.value > 0 && bytes.value % 16 == 0) return true;
  return refuse(tracer, {"the bytes of a bulk copy", "bytes"}, "a multiple of 16",
                std::to_string(bytes.value));
}

bool check_shared(Tracer& tracer, const SharedPlace& place, const char* parameter,
                  const Index& bytes) {
  return check_bytes(tracer, bytes) && check_place(tracer, place, 16, {"a bulk copy", parameter});
}

}  // namespace

void load_bytes(Tracer& tracer, const SharedPlace& destination, ir::Operand source,
                const Index& bytes, const SharedPlace& barrier, std::optional<Index> multicast_mask,
                Guard guard) {
  if (!check_shared(tracer, destination, "dst", bytes)) return;
  std::string spelling = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes";
  std::vector<Operand> operands{memory_at(tracer, destination), source, bytes.operand(),
                                memory_at(tracer, barrier)};
  if (multicast_mask) {
    const auto mask = cta_mask(tracer, *multicast_mask);
    if (!mask) return;
    spelling += ".multicast::cluster";
    operands.push_back(*mask);
  }
  tracer.emit(spelling, operands, guard);
  if (bytes.is_constant() && !multicast_mask && !tracer.has_error()) {
    tracer.note_copy(static_cast<std::uint64_t>(bytes.value));
  }
}

void store_bytes(Tracer& tracer, ir::Operand destination, const SharedPlace& source,
                 const Index& bytes, Guard guard) {
  if (!check_shared(tracer, source, "src", bytes)) return;
  tracer.emit("cp.async.bulk.global.shared::cta.bulk_group",
              {destination, memory_at(tracer, source), bytes.operand()}, guard);
}

void reduce_bytes(Tracer& tracer, std::string_view op, isa::Type type, ir::Operand destination,
                  const SharedPlace& source, const Index& bytes, Guard guard) {
  if (!check_shared(tracer, source, "src", bytes)) return;
  // A 16-bit sum keeps its subnormals: there is no other form of it.
  const std::string noftz = concat(".noftz.", isa::info(type).name);
  const std::string plain = concat(".", isa::info(type).name);
  const std::string_view endings[] = {plain, noftz};
  tracer.emit(spelled(concat("cp.reduce.async.bulk.global.shared::cta.bulk_group.", op), endings),
              {destination, memory_at(tracer, source), bytes.operand()}, guard);
}

void prefetch_bytes(Tracer& tracer, ir::Operand source, const Index& bytes, Guard guard) {
  if (!check_bytes(tracer, bytes)) return;
  tracer.emit("cp.async.bulk.prefetch.L2.global", {source, bytes.operand()}, guard);
}

void copy_to_cluster(Tracer& tracer, Reg destination, const SharedPlace& source, const Index& bytes,
                     Reg barrier, Guard guard) {
  if (!check_shared(tracer, source, "src", bytes) ||
      !check_word(tracer, destination, {"the destination of a copy in the cluster", "dst"}) ||
      !check_word(tracer, barrier, {"the mbarrier of a copy in the cluster", "mbar"})) {
    return;
  }
  tracer.emit("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes",
              {tracer.address(destination), memory_at(tracer, source), bytes.operand(),
               tracer.address(barrier)},
              guard);
}

void commit_group(Tracer& tracer, Guard guard) {
  tracer.emit("cp.async.bulk.commit_group", {}, guard);
}

void wait_group(Tracer& tracer, std::int64_t pending, bool read) {
  if (pending < 0) {
    refuse(tracer, {"the pending groups of cp.async.bulk.wait_group", "n"}, "0 or more",
           std::to_string(pending));
    return;
  }
  tracer.emit(read ? "cp.async.bulk.wait_group.read" : "cp.async.bulk.wait_group",
              {Operand::integer(pending)});
}

}  // namespace pyptx::build::tma
