// SPDX-License-Identifier: Apache-2.0
//
// Tensor memory: allocation, loads, stores, copies, and the order of it all. PTX ISA, "Tensor
// Memory Allocation and Management Instructions" and what follows it. tcgen05.mma is in
// tcgen05_mma.cpp.
#include "pyptx/build/tcgen05.h"

#include "arguments.h"
#include "pyptx/support/concat.h"
#include "tcgen05_parts.h"

namespace pyptx::build::tcgen05 {
namespace {

using ir::Operand;
using support::concat;

/// tcgen05.ld.sync.aligned.32x32b.x4
std::string movement(std::string_view opcode, const MoveOptions& options) {
  return concat(opcode, ".sync.aligned.", options.shape, ".x", options.count);
}

}  // namespace

bool check_group(Tracer& tracer, int cta_group) {
  if (!check_choice(tracer, "cta_group", cta_group, 1, 2)) return false;
  if (tracer.claim_cta_group(cta_group)) return true;
  return refuse(tracer, "cta_group", concat(3 - cta_group, ", as elsewhere in this kernel"),
                std::to_string(cta_group));
}

std::optional<ir::Operand> memory_of(Tracer& tracer, const TmemPlace& place, const Argument& what) {
  if (!check_word(tracer, place.base, what)) return std::nullopt;
  return tracer.address(place.base, place.offset);
}

void alloc(Tracer& tracer, const SharedPlace& address, const Index& columns, int cta_group,
           bool exclusive) {
  if (!check_group(tracer, cta_group) ||
      !check_word(tracer, columns, {"the columns of tcgen05.alloc", "ncols"})) {
    return;
  }
  tracer.emit(concat("tcgen05.alloc.cta_group::", cta_group, ".sync.aligned.shared::cta",
                     exclusive ? ".exclusive.b32" : ".b32"),
              {memory_at(tracer, address), columns.operand()});
}

void dealloc(Tracer& tracer, Reg address, const Index& columns, int cta_group, bool exclusive) {
  if (!check_group(tracer, cta_group) ||
      !check_word(tracer, address, {"the address of tcgen05.dealloc", "taddr"}) ||
      !check_word(tracer, columns, {"the columns of tcgen05.dealloc", "ncols"})) {
    return;
  }
  tracer.emit(concat("tcgen05.dealloc.cta_group::", cta_group,
                     exclusive ? ".sync.aligned.exclusive.b32" : ".sync.aligned.b32"),
              {address, columns.operand()});
}

void relinquish_alloc_permit(Tracer& tracer, int cta_group) {
  if (!check_group(tracer, cta_group)) return;
  tracer.emit(concat("tcgen05.relinquish_alloc_permit.cta_group::", cta_group, ".sync.aligned"),
              {});
}

void ld(Tracer& tracer, std::span<const Reg> destination, const TmemPlace& source,
        const MoveOptions& options) {
  const auto memory = memory_of(tracer, source, {"the address of tcgen05.ld", "taddr"});
  if (!memory) return;
  std::vector<Operand> operands{vector_of(tracer, destination), *memory};
  if (options.split) operands.push_back(Operand::integer(*options.split));
  tracer.emit(concat(movement("tcgen05.ld", options), options.pack ? ".pack::16b.b32" : ".b32"),
              operands, options.guard);
}

void ld_red(Tracer& tracer, std::span<const Reg> destination, const TmemPlace& source,
            const Reduction& reduction, const MoveOptions& options) {
  const auto memory = memory_of(tracer, source, {"the address of tcgen05.ld.red", "taddr"});
  if (!memory) return;
  if (options.pack) {
    refuse(tracer, "pack", "left out with a reduction", "True");
    return;
  }
  std::vector<Operand> operands{vector_of(tracer, destination), reduction.result, *memory};
  if (options.split) operands.push_back(Operand::integer(*options.split));
  tracer.emit(
      concat(movement("tcgen05.ld.red", options), ".", reduction.op, reduction.abs ? ".abs" : "",
             reduction.nan ? ".NaN." : ".", isa::info(reduction.type).name),
      operands, options.guard);
}

void st(Tracer& tracer, const TmemPlace& destination, std::span<const Reg> source,
        const MoveOptions& options) {
  const auto memory = memory_of(tracer, destination, {"the address of tcgen05.st", "taddr"});
  if (!memory) return;
  std::vector<Operand> operands{*memory};
  if (options.split) operands.push_back(Operand::integer(*options.split));
  operands.push_back(vector_of(tracer, source));
  tracer.emit(concat(movement("tcgen05.st", options), options.pack ? ".unpack::16b.b32" : ".b32"),
              operands, options.guard);
}

void cp(Tracer& tracer, const TmemPlace& destination, const Index& descriptor,
        std::string_view shape, const CopyOptions& options) {
  const auto memory = memory_of(tracer, destination, {"the address of tcgen05.cp", "taddr"});
  if (!memory || !check_group(tracer, options.cta_group)) return;
  if (descriptor.reg &&
      !check_wide(tracer, {"the descriptor of tcgen05.cp", "desc"}, *descriptor.reg)) {
    return;
  }
  const auto part = [](std::string_view prefix, const std::string& text) {
    return text.empty() ? std::string() : concat(prefix, text);
  };
  tracer.emit(concat("tcgen05.cp.cta_group::", options.cta_group, ".", shape,
                     part(".", options.multicast), part(".b8x16.", options.source_format)),
              {*memory, descriptor.operand()}, options.guard);
}

void shift(Tracer& tracer, const TmemPlace& place, int cta_group, Guard guard) {
  const auto memory = memory_of(tracer, place, {"the address of tcgen05.shift", "taddr"});
  if (!memory || !check_group(tracer, cta_group)) return;
  tracer.emit(concat("tcgen05.shift.cta_group::", cta_group, ".down"), {*memory}, guard);
}

void commit(Tracer& tracer, const SharedPlace& barrier, const CommitOptions& options) {
  const Expansion here(tracer, "ptx.tcgen05.commit(...)");
  if (!check_group(tracer, options.cta_group)) return;
  std::optional<Operand> mask;
  if (options.multicast_mask) {
    mask = cta_mask(tracer, *options.multicast_mask);
    if (!mask) return;
    if (mask->kind == ir::OperandKind::Integer) {
      // ptxas before 13.4 takes the mask from a register only.
      const Reg word = tracer.reg(isa::Type::B16);
      tracer.emit("mov.b16", {word, *mask});
      mask = Operand(word);
    }
  }
  std::vector<Operand> operands{memory_at(tracer, barrier)};
  if (mask) operands.push_back(*mask);
  tracer.emit(concat("tcgen05.commit.cta_group::", options.cta_group, ".mbarrier::arrive::one",
                     options.space.empty() ? "" : concat(".shared::", options.space),
                     mask ? ".multicast::cluster.b64" : ".b64"),
              operands, options.guard);
}

void wait_ld(Tracer& tracer) { tracer.emit("tcgen05.wait::ld.sync.aligned", {}); }
void wait_st(Tracer& tracer) { tracer.emit("tcgen05.wait::st.sync.aligned", {}); }

void fence_before_thread_sync(Tracer& tracer) {
  tracer.emit("tcgen05.fence::before_thread_sync", {});
}
void fence_after_thread_sync(Tracer& tracer) {
  tracer.emit("tcgen05.fence::after_thread_sync", {});
}

}  // namespace pyptx::build::tcgen05
