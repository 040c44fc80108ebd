// SPDX-License-Identifier: Apache-2.0
//
// Issue and order of wgmma (PTX ISA, "Asynchronous Warpgroup Level Matrix Instructions"): fence,
// mma_async, commit_group, wait_group. The arithmetic is async/wgmma_compute.cpp.
#include <algorithm>

#include "async/wgmma_form.h"
#include "decode/select.h"
#include "machine/cluster.h"
#include "numerics/sparse.h"
#include "observe/observer.h"
#include "race/detector.h"
#include "sem/lanes.h"

namespace pyptx::emu {
namespace {

Step refuse_wgmma(Warp& warp, const Inst& inst, const std::string& why) {
  return warp.fail(inst, diag::Diagnostic(diag::Kind::EmuAsync,
                                          {warp.program->source(inst).spelling->text, why}));
}

/// What was multiplied may have given the running warp its shadow: it goes on with it.
Step after_products(const Warp& warp, bool had_shadow) {
  if (warp.fault) return Step::Fault;
  return had_shadow == (warp.shadow != nullptr) ? Step::Next : Step::Yield;
}

WarpgroupQueue& queue_of(Warp& warp) { return warp.cta->wgmma[warp.id / 4]; }

/// All lanes of the warp, and a whole warpgroup to belong to.
Step prepare(Warp& warp, const Inst& inst, u32 mask) {
  const Step step = warp.converge(inst, warp.live, mask);
  if (step != Step::Next) return step;
  if (mask != kAllLanes) return refuse_wgmma(warp, inst, "lanes of the warp have exited");
  if (warp.id / 4 * 4 + 4 > warp.cta->warps.size()) {
    return refuse_wgmma(warp, inst, "the block does not have four warps for this warpgroup");
  }
  return Step::Next;
}

Step fence(Warp& warp, const Inst& inst, u32 mask) {
  const Step step = prepare(warp, inst, mask);
  if (step != Step::Next) return step;
  WarpgroupQueue::WarpState& state = queue_of(warp).state(warp.id % 4);
  state.unfenced.clear();
  state.has_fenced = true;
  return step;
}

/// Registers that the warp wrote after its last fence are not ordered before a wgmma.
Step check_fence(Warp& warp, const Inst& inst, const WarpgroupQueue::WarpState& state) {
  if (state.has_fenced && state.unfenced.empty()) return Step::Next;
  const u32 pc = static_cast<u32>(&inst - warp.program->code.data());
  const Guard& guard = warp.program->guards[warp.program->guard_of[pc]];
  const auto is_unfenced = [&](u32 number) { return state.unfenced.has(number); };
  if (state.has_fenced && std::ranges::none_of(guard.writes, is_unfenced) &&
      std::ranges::none_of(guard.reads, is_unfenced)) {
    return Step::Next;
  }
  if (warp.cta->cluster->launch->options.is_ignored(diag::Kind::EmuMatrixFence)) return Step::Next;
  return warp.fail(inst, diag::Diagnostic(diag::Kind::EmuMatrixFence,
                                          {warp.program->source(inst).spelling->text}));
}

Step issue(Warp& warp, const Inst& inst, u32 mask) {
  const Step step = prepare(warp, inst, mask);
  if (step != Step::Next) return step;
  const u32 predicate = warp.predicate(inst.c) ^ inst.flip;
  if (predicate != 0 && predicate != kAllLanes) {
    return refuse_wgmma(warp, inst, "scale-d differs between the lanes of the warp");
  }
  bool is_new = false;
  const bool had_shadow = warp.shadow != nullptr;
  WarpgroupQueue& queue = queue_of(warp);
  WarpgroupQueue::WarpState& state = queue.state(warp.id % 4);
  if (check_fence(warp, inst, state) != Step::Next) return Step::Fault;
  if (queue.is_full() && !queue.complete_oldest(*warp.cta, warp.id / 4)) {
    return refuse_wgmma(warp, inst, "the warps of the warpgroup are too many operations apart");
  }
  state.fly(inst);
  WgmmaOp& op = queue.next(warp.id % 4, is_new);
  const u64 a = inst.flag ? 0 : warp.lanes64(inst.a)[0];
  const u64 b = warp.lanes64(inst.b)[0];
  if (is_new) {
    op.inst = &inst;
    op.a_descriptor = a;
    op.b_descriptor = b;
    op.scale_d = predicate != 0;
    Observer* observer = warp.cta->cluster->observer.get();
    if (observer != nullptr) op.ticket = observer->issued(warp, inst, 0);
  } else if (op.inst != &inst || op.a_descriptor != a || op.b_descriptor != b ||
             op.scale_d != (predicate != 0)) {
    return refuse_wgmma(
        warp, inst,
        "the warps of the warpgroup disagree about the instruction, its descriptors or "
        "scale-d");
  }
  ++warp.cta->cluster->progress;
  RaceDetector* races = warp.cta->cluster->races.get();
  const u32 epoch = static_cast<u32>(state.issued);
  if (races != nullptr && !races->matrix(warp, inst, a, b, epoch)) return Step::Fault;
  if (warp.cta->cluster->is_immediate() && op.issued == 0xFU) {
    queue.complete(*warp.cta, warp.id / 4, op.group + 1);
  }
  return after_products(warp, had_shadow);
}

Step commit(Warp& warp, const Inst& inst, u32 mask) {
  const Step step = prepare(warp, inst, mask);
  if (step != Step::Next) return step;
  queue_of(warp).commit(warp.id % 4);
  if (RaceDetector* races = warp.cta->cluster->races.get()) {
    races->commit_matrix(warp, queue_of(warp).state(warp.id % 4).issued);
  }
  return Step::Next;
}

/// imm: groups that may stay open.
Step wait(Warp& warp, const Inst& inst, u32 mask) {
  const bool is_resumed = warp.take_resumed();
  if (is_resumed && warp.fault) return Step::Fault;
  const Step step = is_resumed ? Step::Next : prepare(warp, inst, mask);
  if (step != Step::Next) return step;
  WarpgroupQueue& queue = queue_of(warp);
  const u64 committed = queue.state(warp.id % 4).groups;
  const u64 open = static_cast<u64>(inst.imm);
  const u64 end = committed > open ? committed - open : 0;
  std::erase_if(queue.state(warp.id % 4).flying, [&](const auto& op) { return op.second < end; });
  if (RaceDetector* races = warp.cta->cluster->races.get()) races->wait_matrix(warp, end);
  if (is_resumed) return Step::Next;
  const bool had_shadow = warp.shadow != nullptr;
  if (!queue.is_open(end) || queue.complete(*warp.cta, warp.id / 4, end)) {
    return after_products(warp, had_shadow);
  }
  Wait what;
  what.kind = Wait::Kind::WgmmaGroups;
  what.value = end;
  return warp.block(what);
}

void take_sync(Lowering& low) {
  low.ignore({"sync", "aligned", "fence", "commit_group", "wait_group", "mma_async"});
}

Element take_wgmma_element(Lowering& low) {
  return find_element(low.take_next({"f16", "bf16", "tf32", "e4m3", "e5m2", "s8", "u8", "b1"}));
}

std::optional<u32> take_columns(Lowering& low, u32 depth) {
  for (u32 n = 8; n <= 256; n += 8) {
    if (low.take("m64n" + std::to_string(n) + "k" + std::to_string(depth))) return n;
  }
  return std::nullopt;
}

/// -1 or 1; the literals behind scale-d.
bool take_sign(Lowering& low, std::size_t at, bool& is_negative) {
  const std::optional<i64> value = low.literal(low.operand(at));
  if (!value || (*value != 1 && *value != -1)) return false;
  is_negative = *value == -1;
  return true;
}

bool take_flags(Lowering& low, std::size_t at, bool a_in_registers, WgmmaForm& form) {
  const std::size_t count = low.count();
  if (at >= count) return true;
  if (at + 1 >= count || !take_sign(low, at, form.negate_a) ||
      !take_sign(low, at + 1, form.negate_b)) {
    return false;
  }
  at += 2;
  if (at >= count) return true;
  if (!a_in_registers) form.trans_a = low.literal(low.operand(at++)) == 1;
  if (at < count) form.trans_b = low.literal(low.operand(at)) == 1;
  return true;
}

}  // namespace

Handler select_wgmma_fence(Lowering& low) {
  take_sync(low);
  return &fence;
}

Handler select_wgmma_commit(Lowering& low) {
  take_sync(low);
  return &commit;
}

Handler select_wgmma_wait(Lowering& low) {
  take_sync(low);
  const std::optional<i64> open = low.literal(low.operand(0));
  if (!open || *open < 0) return nullptr;
  low.out.imm = *open;
  return &wait;
}

Handler select_wgmma_mma(Lowering& low) {
  Inst& out = low.out;
  take_sync(low);
  WgmmaForm form;
  form.is_sparse = low.take("sp");
  form.saturate = low.take("satfinite");
  const std::string_view d = low.take_next({"f16", "f32", "s32"});
  form.d = d == "f16" ? Accumulator::F16 : d == "s32" ? Accumulator::S32 : Accumulator::F32;
  form.a = take_wgmma_element(low);
  form.b = take_wgmma_element(low);
  low.ignore({"and", "popc"});  // the only operation that .b1 has here
  if (form.a == Element::None || form.b == Element::None) {
    return low.refuse("its element types cannot run");
  }
  const std::optional<u32> columns = take_columns(low, form.depth());
  if (!columns) return nullptr;
  form.columns = *columns;
  form.a_in_registers = low.operand(1).kind == ir::OperandKind::Vector;
  std::vector<u32> list;
  for (const ir::Operand& one : low.children(low.operand(0))) {
    list.push_back(low.dest(one, Ty::B32));
  }
  if (list.size() != form.d_registers()) return low.refuse("its accumulator has another size");
  if (form.a_in_registers) {
    for (const ir::Operand& a : low.children(low.operand(1))) {
      list.push_back(low.source(a, Ty::B32));
    }
    if (list.size() != form.d_registers() + 4U) return low.refuse("A takes four registers");
  } else {
    out.a = low.source(1, Ty::B64);
  }
  out.flag = form.a_in_registers;
  out.b = low.source(2, Ty::B64);
  std::size_t at = 3;
  if (form.is_sparse) {
    list.push_back(low.source(3, Ty::B32));
    const std::optional<i64> selector = low.literal(low.operand(4));
    if (!selector || *selector < 0 || *selector > 3) return nullptr;
    form.selector = static_cast<u8>(*selector);
    if (!has_metadata({form.a, form.stored(), form.selector, false})) {
      return low.refuse("its sparsity selector names threads that a quad does not have");
    }
    at = 5;
  }
  bool negated = false;
  out.c = low.predicate(low.operand(at), negated);
  out.flip = negated ? kAllLanes : 0;
  if (!take_flags(low, at + 1, form.a_in_registers, form)) {
    return low.refuse("its scales must be the literals 1 or -1");
  }
  low.set_list(list);
  out.imm = form.pack();
  return &issue;
}

}  // namespace pyptx::emu
