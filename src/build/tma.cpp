// SPDX-License-Identifier: Apache-2.0
//
// Bulk copies. PTX ISA, "cp.async.bulk", "cp.async.bulk.tensor", "cp.async.bulk.wait_group".
#include "pyptx/build/tma.h"

#include <string>
#include <vector>

#include "pyptx/support/concat.h"

namespace pyptx::build::tma {
namespace {

using diag::Kind;
using ir::Operand;
using support::concat;

bool check_copy(Tracer& tracer, std::size_t rank, Reg map, std::span<const Index> coordinates) {
  if (rank < 1 || rank > 5) {
    tracer.report(
        {Kind::BadArgument, {"the rank of a tensor copy", "1 to 5", std::to_string(rank)}});
    return false;
  }
  if (coordinates.size() != rank) {
    tracer.report(
        {Kind::TensorCoordinates, {std::to_string(rank), std::to_string(coordinates.size())}});
    return false;
  }
  if (isa::info(map.type).bits != 64) {
    tracer.report({Kind::BadArgument,
                   {"the tensor map of a copy", "a 64-bit register with its address",
                    concat("a register of type ", isa::info(map.type).name)}});
    return false;
  }
  for (std::size_t i = 0; i < rank; ++i) {
    if (!check_word(tracer, coordinates[i], concat("coordinate ", i, " of a tensor copy"))) {
      return false;
    }
  }
  return true;
}

ir::Operand box_at(Tracer& tracer, Reg map, std::span<const Index> coordinates) {
  std::vector<Operand> operands;
  for (const Index& coordinate : coordinates) operands.push_back(coordinate.operand());
  return tracer.tensor_address(map, operands);
}

/// TMA wants its boxes on 128 bytes; only a constant offset can be judged while tracing.
bool check_place(Tracer& tracer, const SharedPlace& place, std::uint32_t align,
                 std::string_view what) {
  if (place.offset % align == 0) return true;
  tracer.report(
      {Kind::SharedAlignment,
       {place.block && place.owner == tracer.tag() ? tracer.shared_block(*place.block).name
                                                   : std::string("the address"),
        std::to_string(place.offset & -place.offset), std::string(what), std::to_string(align)}});
  return false;
}

bool check_bytes(Tracer& tracer, const Index& bytes) {
  if (!bytes.is_constant()) return check_word(tracer, bytes, "the bytes of a bulk copy");
  if (bytes.value > 0 && bytes.value % 16 == 0) return true;
  tracer.report({Kind::BadArgument,
                 {"the bytes of a bulk copy", "a multiple of 16", std::to_string(bytes.value)}});
  return false;
}

/// A multicast mask is a 16-bit operand.
std::optional<ir::Operand> mask_operand(Tracer& tracer, const Index& mask) {
  if (mask.is_constant()) {
    if (mask.value > 0 && mask.value <= 0xFFFF) return mask.operand();
  } else if (isa::info(mask.reg->type).bits == 16) {
    return mask.operand();
  } else if (isa::info(mask.reg->type).bits == 32) {
    const Reg narrow = tracer.reg(isa::Type::U16);
    tracer.emit("cvt.u16.u32", {narrow, *mask.reg});
    return ir::Operand(narrow);
  }
  tracer.report(
      {Kind::BadArgument,
       {"the multicast mask", "1 to 65535 or a 16-bit register",
        mask.is_constant() ? std::to_string(mask.value)
                           : concat("a register of type ", isa::info(mask.reg->type).name)}});
  return std::nullopt;
}

}  // namespace

void load(Tracer& tracer, std::size_t rank, const SharedPlace& destination, Reg map,
          std::span<const Index> coordinates, const SharedPlace& barrier, LoadOptions options) {
  if (!check_copy(tracer, rank, map, coordinates)) return;
  if (!check_place(tracer, destination, 128, "a tensor copy")) return;
  if (options.cta_group != 1 && options.cta_group != 2) {
    tracer.report({Kind::BadArgument, {"cta_group", "1 or 2", std::to_string(options.cta_group)}});
    return;
  }
  std::string spelling = concat("cp.async.bulk.tensor.", rank,
                                "d.shared::cluster.global.tile.mbarrier::complete_tx::bytes");
  std::optional<Operand> mask;
  if (options.multicast_mask) {
    mask = mask_operand(tracer, *options.multicast_mask);
    if (!mask) return;
    spelling += ".multicast::cluster";
  }
  if (options.cta_group == 2) spelling += ".cta_group::2";
  std::vector<Operand> operands{memory_at(tracer, destination), box_at(tracer, map, coordinates),
                                memory_at(tracer, barrier)};
  if (mask) operands.push_back(*mask);
  tracer.emit(spelling, operands, options.guard);
}

void store(Tracer& tracer, std::size_t rank, Reg map, std::span<const Index> coordinates,
           const SharedPlace& source, Guard guard) {
  if (!check_copy(tracer, rank, map, coordinates)) return;
  if (!check_place(tracer, source, 128, "a tensor copy")) return;
  tracer.emit(concat("cp.async.bulk.tensor.", rank, "d.global.shared::cta.tile.bulk_group"),
              {box_at(tracer, map, coordinates), memory_at(tracer, source)}, guard);
}

std::vector<Index> blocked_coordinates(Tracer& tracer, const Index& row, const Index& column) {
  constexpr int kShift = 6;  // 64 elements to a block
  if (column.is_constant()) return {0, row, column.value >> kShift};
  if (!check_word(tracer, column, "the column of a tensor copy")) return {};
  const Reg block = tracer.reg(isa::Type::U32);
  tracer.emit("shr.u32", {block, *column.reg, Operand::integer(kShift)});
  return {0, row, block};
}

void load_bytes(Tracer& tracer, const SharedPlace& destination, ir::Operand source,
                const Index& bytes, const SharedPlace& barrier, Guard guard) {
  if (!check_bytes(tracer, bytes) || !check_place(tracer, destination, 16, "a bulk copy")) return;
  tracer.emit("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes",
              {memory_at(tracer, destination), source, bytes.operand(), memory_at(tracer, barrier)},
              guard);
}

void store_bytes(Tracer& tracer, ir::Operand destination, const SharedPlace& source,
                 const Index& bytes, Guard guard) {
  if (!check_bytes(tracer, bytes) || !check_place(tracer, source, 16, "a bulk copy")) return;
  tracer.emit("cp.async.bulk.global.shared::cta.bulk_group",
              {destination, memory_at(tracer, source), bytes.operand()}, guard);
}

void commit_group(Tracer& tracer, Guard guard) {
  tracer.emit("cp.async.bulk.commit_group", {}, guard);
}

void wait_group(Tracer& tracer, std::int64_t pending, bool read) {
  if (pending < 0) {
    tracer.report(
        {Kind::BadArgument,
         {"the pending groups of cp.async.bulk.wait_group", "0 or more", std::to_string(pending)}});
    return;
  }
  tracer.emit(read ? "cp.async.bulk.wait_group.read" : "cp.async.bulk.wait_group",
              {Operand::integer(pending)});
}

}  // namespace pyptx::build::tma
