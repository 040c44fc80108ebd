// SPDX-License-Identifier: Apache-2.0
//
// stacksave, stackrestore, alloca (PTX ISA, "Stack Manipulation Instructions"): every thread has a
// stack in local memory, above its variables. It grows upwards.
#include <bit>
#include <string>

#include "decode/select.h"
#include "machine/cluster.h"
#include "sem/lane.h"

namespace pyptx::emu {
namespace {

constexpr u32 kStackBytes = 16384;

/// Local memory of a program that moves its stack pointer: variables, then the stack.
void reserve_stack(Program& program) {
  if (program.stack_base != 0) return;
  program.stack_base = (static_cast<u32>(program.local_bytes) + 63U) & ~63U;
  if (program.stack_base == 0) program.stack_base = 64;  // no object lies at address zero
  program.local_bytes = program.stack_base + kStackBytes;
}

Step overflow(Warp& warp, const Inst& inst, u32 lane, u64 bytes) {
  warp.active = 1U << lane;
  diag::Diagnostic diagnostic(diag::Kind::EmuOutOfBounds,
                              {"allocation", std::to_string(bytes), "the end of the stack"});
  diagnostic->notes.push_back("each thread has a stack of " + std::to_string(kStackBytes) +
                              " bytes");
  return warp.fail(inst, std::move(diagnostic));
}

/// register_bytes: of pointer and size; imm: the alignment.
Step allocate(Warp& warp, const Inst& inst, u32 mask) {
  const u32 base = warp.program->stack_base;
  const u64 align = static_cast<u64>(inst.imm);
  Step step = Step::Next;
  each_active(mask, [&](u32 i) {
    if (step != Step::Next) return;
    const u64 size = read_lane(warp, inst.a, inst.register_bytes, i);
    const u64 start = (base + warp.stack[i] + align - 1) / align * align;
    if (size > kStackBytes || start + size > base + u64{kStackBytes}) {
      step = overflow(warp, inst, i, size);
      return;
    }
    warp.stack[i] = static_cast<u32>(start + size - base);
    write_lane(warp, inst.d, inst.register_bytes, i, start);
  });
  return step;
}

Step save(Warp& warp, const Inst& inst, u32 mask) {
  each_active(mask, [&](u32 i) {
    write_lane(warp, inst.d, inst.register_bytes, i, warp.program->stack_base + warp.stack[i]);
  });
  return Step::Next;
}

Step restore(Warp& warp, const Inst& inst, u32 mask) {
  const u32 base = warp.program->stack_base;
  Step step = Step::Next;
  each_active(mask, [&](u32 i) {
    const u64 pointer = read_lane(warp, inst.a, inst.register_bytes, i);
    if (step != Step::Next) return;
    if (pointer < base || pointer > base + u64{warp.stack[i]}) {
      warp.active = 1U << i;
      step = warp.fail(inst, diag::Diagnostic(diag::Kind::EmuOperandValue,
                                              {warp.program->source(inst).spelling->text,
                                               "its operand is not a pointer that stacksave gave, "
                                               "or the stack is below it by now"}));
      return;
    }
    warp.stack[i] = static_cast<u32>(pointer - base);
  });
  return step;
}

}  // namespace

Handler select_alloca(Lowering& low) {
  Inst& out = low.out;
  const Ty type = low.take_type();
  reserve_stack(low.program());
  out.register_bytes = static_cast<u8>(bytes_of(type));
  out.d = low.dest(0, type);
  out.a = low.source(1, type);
  out.imm = 8;
  if (low.count() > 2) out.imm = low.literal(low.operand(2)).value_or(8);
  if (out.imm <= 0 || out.imm > kStackBytes || !std::has_single_bit(static_cast<u64>(out.imm))) {
    return low.refuse("its alignment is not a power of two up to " + std::to_string(kStackBytes));
  }
  return &allocate;
}

Handler select_stacksave(Lowering& low) {
  const Ty type = low.take_type();
  reserve_stack(low.program());
  low.out.register_bytes = static_cast<u8>(bytes_of(type));
  low.out.d = low.dest(0, type);
  return &save;
}

Handler select_stackrestore(Lowering& low) {
  const Ty type = low.take_type();
  reserve_stack(low.program());
  low.out.register_bytes = static_cast<u8>(bytes_of(type));
  low.out.a = low.source(0, type);
  return &restore;
}

}  // namespace pyptx::emu
