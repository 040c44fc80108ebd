// SPDX-License-Identifier: Apache-2.0
//
// mbarrier instructions, the wait loop and the ring of stages. PTX ISA, "mbarrier".
#include "pyptx/build/mbarrier.h"

#include <string>
#include <vector>

#include "arguments.h"
#include "pyptx/support/concat.h"

namespace pyptx::build::mbarrier {
namespace {

using diag::Kind;
using ir::Operand;

constexpr std::int64_t kMaxCount = (1 << 20) - 1;  // PTX ISA, "Contents of the mbarrier object"

bool check_count(Tracer& tracer, const Index& count, const Argument& what, std::int64_t lowest) {
  if (!count.is_constant()) return check_word(tracer, count, what);
  if (count.value >= lowest && count.value <= kMaxCount) return true;
  return refuse(tracer, what, support::concat(lowest, " to ", kMaxCount),
                std::to_string(count.value));
}

bool check_phase(Tracer& tracer, const Index& phase) {
  if (phase.is_constant() ? phase.value == 0 || phase.value == 1
                          : isa::info(phase.reg->type).bits == 32) {
    return true;
  }
  return refuse(tracer, {"the phase parity", "phase"}, "0, 1 or a 32-bit register", words(phase));
}

/// A predicate: whether the phase is complete.
Reg ask(Tracer& tracer, std::string_view opcode, const SharedPlace& barrier, const Index& phase,
        bool parity, Guard guard) {
  const Reg done = tracer.reg(isa::Type::Pred);
  if (parity && !check_phase(tracer, phase)) return done;
  if (!parity && (phase.is_constant() || isa::info(phase.reg->type).bits != 64)) {
    refuse(tracer, {support::concat("the state of ", opcode), "phase"}, "a 64-bit register",
           words(phase));
    return done;
  }
  tracer.emit(support::concat(opcode, parity ? ".parity" : "", ".shared::cta.b64"),
              {done, memory_at(tracer, barrier), phase.operand()}, guard);
  return done;
}

}  // namespace

MbarrierArray allocate(Tracer& tracer, std::uint64_t count, std::string_view name) {
  const std::string_view stem = name.empty() ? "mbar" : name;
  if (count == 0) {
    tracer.report(
        diag::Diagnostic(Kind::SharedAllocation, {std::string(stem), "an array of 0 mbarriers"})
            .about("count"));
    return {};
  }
  const std::size_t block = tracer.allocate_shared(count * kBytes, kBytes, stem);
  if (tracer.has_error()) return {};
  return {SharedPlace::of_block(tracer, block), count, tracer.shared_block(block).name};
}

MbarrierArray array(Tracer& tracer, Reg base, std::int64_t byte_offset, std::uint64_t count) {
  check_word(tracer, base, {"the base of an mbarrier array", "base"});
  if (byte_offset % kBytes != 0) {
    tracer.report(diag::Diagnostic(Kind::SharedAlignment,
                                   {"the array", std::to_string(byte_offset & -byte_offset),
                                    "an mbarrier", std::to_string(kBytes)})
                      .about("byte_offset"));
  }
  return {SharedPlace::of_register(base, byte_offset), count, "mbarrier.array"};
}

MbarrierRef at(Tracer& tracer, const MbarrierArray& barriers, const Index& index) {
  if (!check_word(tracer, index, {"the index of an mbarrier", "i"}))
    return {barriers.place, barriers.name};
  if (index.is_constant() &&
      (index.value < 0 || static_cast<std::uint64_t>(index.value) >= barriers.count)) {
    tracer.report(
        diag::Diagnostic(Kind::SharedIndex, {"0", barriers.name, std::to_string(barriers.count - 1),
                                             std::to_string(index.value)})
            .about("i"));
    return {barriers.place, barriers.name};
  }
  return {advanced(tracer, barriers.place, index, kBytes), barriers.name};
}

void init(Tracer& tracer, const SharedPlace& barrier, const Index& count, Guard guard) {
  if (!check_count(tracer, count, {"the arrival count of an mbarrier", "n"}, 1)) return;
  tracer.emit("mbarrier.init.shared::cta.b64", {memory_at(tracer, barrier), count.operand()},
              guard);
}

void init_all(Tracer& tracer, const MbarrierArray& barriers, const Index& count, Guard guard) {
  const Expansion here(tracer, "init_all(...)");
  for (std::uint64_t i = 0; i < barriers.count; ++i) {
    init(tracer, barriers.place.plus(static_cast<std::int64_t>(i) * kBytes), count, guard);
  }
}

void inval(Tracer& tracer, const SharedPlace& barrier, Guard guard) {
  tracer.emit("mbarrier.inval.shared::cta.b64", {memory_at(tracer, barrier)}, guard);
}

void arrive(Tracer& tracer, const SharedPlace& barrier, const Index& count, Guard guard) {
  if (!check_count(tracer, count, {"the count of mbarrier.arrive", "n"}, 1)) return;
  const ir::Operand memory = memory_at(tracer, barrier);
  if (count.is_constant() && count.value == 1) {
    tracer.emit("mbarrier.arrive.shared::cta.b64", {Operand::sink(), memory}, guard);
    return;
  }
  tracer.emit("mbarrier.arrive.shared::cta.b64", {Operand::sink(), memory, count.operand()}, guard);
}

Reg arrive_state(Tracer& tracer, const SharedPlace& barrier, const Index& count, Guard guard) {
  const Reg state = tracer.reg(isa::Type::B64);
  if (!check_count(tracer, count, {"the count of mbarrier.arrive", "n"}, 1)) return state;
  std::vector<Operand> operands{state, memory_at(tracer, barrier)};
  if (!count.is_constant() || count.value != 1) operands.push_back(count.operand());
  tracer.emit("mbarrier.arrive.shared::cta.b64", operands, guard);
  return state;
}

void arrive_drop(Tracer& tracer, const SharedPlace& barrier, const Index& count, Guard guard) {
  if (!check_count(tracer, count, {"the count of mbarrier.arrive_drop", "n"}, 1)) return;
  // Only a register takes the state where the mbarrier is this CTA's own.
  std::vector<Operand> operands{tracer.reg(isa::Type::B64), memory_at(tracer, barrier)};
  if (!count.is_constant() || count.value != 1) operands.push_back(count.operand());
  tracer.emit("mbarrier.arrive_drop.shared::cta.b64", operands, guard);
}

Reg pending_count(Tracer& tracer, Reg state, Guard guard) {
  const Reg count = tracer.reg(isa::Type::U32);
  if (check_wide(tracer, {"the state of mbarrier.pending_count", "state"}, state)) {
    tracer.emit("mbarrier.pending_count.b64", {count, state}, guard);
  }
  return count;
}

void complete_tx(Tracer& tracer, const SharedPlace& barrier, const Index& bytes, Guard guard) {
  if (!check_count(tracer, bytes, {"the bytes of complete_tx", "bytes"}, 0)) return;
  tracer.emit("mbarrier.complete_tx.relaxed.cta.shared::cta.b64",
              {memory_at(tracer, barrier), bytes.operand()}, guard);
}

void arrive_expect_tx(Tracer& tracer, const SharedPlace& barrier, const Index& bytes, Guard guard) {
  if (!check_count(tracer, bytes, {"the bytes of arrive_expect_tx", "bytes"}, 0)) return;
  tracer.emit("mbarrier.arrive.expect_tx.shared::cta.b64",
              {Operand::sink(), memory_at(tracer, barrier), bytes.operand()}, guard);
}

void expect_tx(Tracer& tracer, const SharedPlace& barrier, const Index& bytes, Guard guard) {
  if (!check_count(tracer, bytes, {"the bytes of expect_tx", "bytes"}, 0)) return;
  tracer.emit("mbarrier.expect_tx.relaxed.cta.shared::cta.b64",
              {memory_at(tracer, barrier), bytes.operand()}, guard);
}

void arrive_remote(Tracer& tracer, const SharedPlace& barrier, const Index& cta, const Index& count,
                   Guard guard) {
  const Expansion here(tracer, "ptx.mbarrier.arrive_remote(...)");
  if (!check_word(tracer, cta, {"the CTA of arrive_remote", "cta"})) return;
  if (!check_count(tracer, count, {"the count of arrive_remote", "n"}, 1)) return;
  const Reg remote = tracer.reg(isa::Type::U32);
  tracer.emit("mapa.shared::cluster.u32", {remote, address_of(tracer, barrier), cta.operand()},
              guard);
  tracer.emit("mbarrier.arrive.release.cluster.shared::cluster.b64",
              {Operand::sink(), tracer.address(remote), count.operand()}, guard);
}

void arrive_remote_all(Tracer& tracer, const MbarrierArray& barriers, const Index& cta,
                       const Index& count, Guard guard) {
  const Expansion here(tracer, "arrive_remote_all(...)");
  for (std::uint64_t i = 0; i < barriers.count; ++i) {
    arrive_remote(tracer, at(tracer, barriers, i).place, cta, count, guard);
  }
}

Reg try_wait(Tracer& tracer, const SharedPlace& barrier, const Index& phase, bool parity,
             Guard guard) {
  return ask(tracer, "mbarrier.try_wait", barrier, phase, parity, guard);
}

Reg test_wait(Tracer& tracer, const SharedPlace& barrier, const Index& phase, bool parity,
              Guard guard) {
  return ask(tracer, "mbarrier.test_wait", barrier, phase, parity, guard);
}

void wait(Tracer& tracer, const SharedPlace& barrier, const Index& phase) {
  const Expansion here(tracer, "ptx.mbarrier.wait(...)");
  if (!check_phase(tracer, phase)) return;
  // The address is made before the loop, not in every round of it.
  const Reg address = address_of(tracer, barrier);
  const ir::LabelId again = tracer.label("mbar_wait");
  tracer.place(again);
  const Reg done = try_wait(tracer, SharedPlace::of_register(address), phase);
  tracer.emit("bra", {Operand::label(again)}, {done, true});
}

Pipeline pipeline(Tracer& tracer, std::uint64_t stages, const Index& cursor, const Index& phase) {
  const Expansion here(tracer, "ptx.mbarrier.pipeline(...)");
  if (stages == 0) {
    refuse(tracer, {"the stages of a pipeline", "n"}, "at least 1", "0");
  }
  check_word(tracer, cursor, {"the cursor of a pipeline", "cursor"});
  check_phase(tracer, phase);
  const auto state = [&](const Index& start) {
    if (start.reg) return *start.reg;
    const Reg fresh = tracer.reg(isa::Type::U32);
    tracer.emit("mov.u32", {fresh, start.operand()});
    return fresh;
  };
  const Pipeline ring{stages, state(cursor), state(phase)};
  tracer.keep_newest();
  return ring;
}

void advance(Tracer& tracer, const Pipeline& ring) {
  const Expansion here(tracer, "pipeline.advance(...)");
  const Reg wraps = tracer.reg(isa::Type::Pred);
  tracer.emit("add.u32", {ring.stage, ring.stage, Operand::integer(1)});
  tracer.emit("setp.eq.u32",
              {wraps, ring.stage, Operand::integer(static_cast<std::int64_t>(ring.stages))});
  tracer.emit("selp.u32", {ring.stage, Operand::integer(0), ring.stage, wraps});
  tracer.emit("xor.b32", {ring.phase, ring.phase, Operand::integer(1)}, {wraps, false});
}

}  // namespace pyptx::build::mbarrier
