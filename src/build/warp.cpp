// SPDX-License-Identifier: Apache-2.0
//
// Butterfly reductions and barriers. See warp.h.
#include "pyptx/build/warp.h"

#include <array>
#include <bit>
#include <cstdint>
#include <optional>
#include <string>

#include "arguments.h"
#include "pyptx/build/memory.h"
#include "types.h"

namespace pyptx::build {
namespace {

constexpr std::int64_t kWarp = 32;
constexpr std::int64_t kAllLanes = 0xffffffff;

/// shfl moves 32 bits: c holds the clamp (low five bits) and the mask of the group (bits 8 to 12).
void shuffle(Tracer& tracer, Reg destination, ir::Operand source, std::int64_t distance,
             std::int64_t width) {
  const std::int64_t clamp = ((kWarp - width) << 8) | (kWarp - 1);
  tracer.emit("shfl.sync.bfly.b32", {destination, source, ir::Operand::integer(distance),
                                     ir::Operand::integer(clamp), ir::Operand::integer(kAllLanes)});
}

/// The partner's value, in a register of the same type.
Reg exchanged(Tracer& tracer, Reg value, std::int64_t distance, std::int64_t width) {
  const std::uint32_t size = bits(value.type);
  const Reg partner = tracer.reg(value.type);
  if (size == 32) {
    shuffle(tracer, partner, value, distance, width);
    return partner;
  }
  if (size == 16) {
    const Reg zero = tracer.reg(isa::Type::B16);
    tracer.emit("mov.b16", {zero, ir::Operand::integer(0)});
    const Reg word = tracer.reg(isa::Type::B32);
    tracer.emit("mov.b32", {word, tracer.vector(std::array<ir::Operand, 2>{value, zero})});
    shuffle(tracer, word, word, distance, width);
    tracer.emit("mov.b32", {tracer.vector(std::array<ir::Operand, 2>{partner, zero}), word});
    return partner;
  }
  const Reg low = tracer.reg(isa::Type::B32);
  const Reg high = tracer.reg(isa::Type::B32);
  const std::array<ir::Operand, 2> halves{low, high};
  tracer.emit("mov.b64", {tracer.vector(halves), value});
  shuffle(tracer, low, low, distance, width);
  shuffle(tracer, high, high, distance, width);
  tracer.emit("mov.b64", {partner, tracer.vector(halves)});
  return partner;
}

}  // namespace

Reg warp_reduce(Tracer& tracer, BinaryOp op, Reg value, std::int64_t width) {
  const Expansion here(tracer, op == BinaryOp::Max   ? "ptx.warp.reduce_max(...)"
                               : op == BinaryOp::Min ? "ptx.warp.reduce_min(...)"
                                                     : "ptx.warp.reduce_sum(...)");
  if (width < 2 || width > kWarp || !std::has_single_bit(static_cast<std::uint64_t>(width))) {
    refuse(tracer, {"the width of a warp reduction", "width"}, "2, 4, 8, 16 or 32",
           std::to_string(width));
    return value;
  }
  const std::uint32_t size = bits(value.type);
  if (value.type == isa::Type::Pred || size < 16 || size > 64) {
    tracer.report(
        diag::Diagnostic(diag::Kind::OperatorType, {"a warp reduction", type_text(value.type)})
            .about("reg"));
    return value;
  }
  for (std::int64_t distance = width / 2; distance > 0; distance /= 2) {
    update(tracer, op, value, exchanged(tracer, value, distance, width));
  }
  return value;
}

void bar_sync(Tracer& tracer, Value id, std::optional<Value> count) {
  if (count) {
    tracer.emit("bar.sync", {as_operand(id), as_operand(*count)});
  } else {
    tracer.emit("bar.sync", {as_operand(id)});
  }
}

void bar_arrive(Tracer& tracer, Value id, Value count) {
  tracer.emit("bar.arrive", {as_operand(id), as_operand(count)});
}

void elect_sync(Tracer& tracer, std::optional<Reg> destination, Reg predicate, Value mask) {
  const ir::Operand leader = destination ? ir::Operand(*destination) : ir::Operand::sink();
  tracer.emit("elect.sync", {tracer.pipe(leader, predicate), as_operand(mask)});
}

}  // namespace pyptx::build
