// SPDX-License-Identifier: Apache-2.0
//
// cp.async and its groups (PTX ISA, "Data Movement and Conversion Instructions: Non-bulk copy").
// Addresses are checked when the copy is issued; the bytes move when it completes.
#include "decode/select.h"
#include "machine/cluster.h"
#include "observe/observer.h"
#include "race/detector.h"
#include "sem/lanes.h"

namespace pyptx::emu {
namespace {

Step broken(Warp& warp, const Inst& inst, const std::string& problem) {
  return warp.fail(inst, diag::Diagnostic(diag::Kind::EmuMbarrier, {"of a cp.async", problem}));
}

CopyQueue& queue_of(Warp& warp) { return warp.cta->copies[warp.id]; }

/// Room for one more operation: where there is none, the oldest lands. False: the fault is
/// recorded.
bool make_room(Warp& warp, const Inst& inst) {
  CopyQueue& queue = queue_of(warp);
  std::string problem;
  if (!queue.is_full() || queue.complete_oldest(*warp.cta->cluster, problem)) return true;
  broken(warp, inst, problem);
  return false;
}

/// Runs the operation now when the policy is to complete early.
Step settle(Warp& warp, const Inst& inst, u32 mask) {
  if (!warp.cta->cluster->is_immediate()) return Step::Next;
  CopyQueue& queue = queue_of(warp);
  std::string problem;
  for (u32 rest = mask; rest != 0; rest &= rest - 1) {
    const u32 lane = Warp::first_lane(rest);
    if (!queue.complete_lane(*warp.cta->cluster, lane, queue.group(lane) + 1, problem)) {
      return broken(warp, inst, problem);
    }
  }
  return Step::Next;
}

/// a: destination, b: source (e: its lane bytes), c: bytes to read or ignore-src (kind: 0 none,
/// 1 src-size, 2 ignore-src), element_bytes: cp-size, target: byte offset of the source.
Step copy(Warp& warp, const Inst& inst, u32 mask) {
  std::byte* to[kLanes];
  std::byte* from[kLanes];
  u8 bytes[kLanes];
  for (u32 rest = mask; rest != 0; rest &= rest - 1) {
    const u32 lane = Warp::first_lane(rest);
    u32 size = inst.element_bytes;
    if (inst.kind == 1) size = warp.lanes32(inst.c)[lane];
    if (inst.kind == 2 && (((warp.predicate(inst.c) ^ inst.flip) >> lane) & 1U) != 0) size = 0;
    if (size > inst.element_bytes) {
      warp.active = 1U << lane;
      return warp.fail(
          inst, diag::Diagnostic(diag::Kind::EmuOperandValue,
                                 {warp.program->source(inst).spelling->text,
                                  "src-size " + std::to_string(size) + " is more than cp-size"}));
    }
    AccessRequest request{Space::Shared,
                          lane_address(warp, inst, lane),
                          inst.element_bytes,
                          inst.element_bytes,
                          lane,
                          true,
                          "async copy",
                          AccessOrder::Elsewhere};
    to[lane] = resolve(warp, inst, request);
    if (to[lane] == nullptr) return Step::Fault;
    const u32 offset = static_cast<u32>(to[lane] - warp.cta->shared.data());
    RaceDetector* races = warp.cta->cluster->races.get();
    if (races != nullptr && !races->copy(warp, inst, lane, offset, inst.element_bytes)) {
      return Step::Fault;
    }
    request.space = Space::Global;
    request.address = (inst.e == 4 ? warp.lanes32(inst.b)[lane] : warp.lanes64(inst.b)[lane]) +
                      static_cast<u64>(static_cast<i64>(static_cast<i32>(inst.target)));
    request.bytes = size;
    request.is_write = false;
    from[lane] = to[lane];
    bytes[lane] = static_cast<u8>(size);
    if (size != 0) from[lane] = resolve(warp, inst, request);
    if (from[lane] == nullptr) return Step::Fault;
    if (races != nullptr && size != 0 &&
        !races->copy_from(warp, inst, lane, request.address, size)) {
      return Step::Fault;
    }
  }
  if (!make_room(warp, inst)) return Step::Fault;
  CopyQueue& queue = queue_of(warp);
  queue.issuer = &inst;
  CopyQueue::Op& op = queue.push();
  op.bytes = inst.element_bytes;
  op.pending = mask;
  op.warp = &warp;
  each_active(mask, [&](u32 lane) {
    op.to[lane] = to[lane];
    op.from[lane] = from[lane];
    op.from_bytes[lane] = bytes[lane];
    op.group[lane] = queue.group(lane);
  });
  if (Observer* observer = warp.cta->cluster->observer.get()) {
    const u64 lanes = static_cast<u64>(std::popcount(mask));
    op.ticket = observer->copy_issued(warp, inst, lanes * inst.element_bytes);
  }
  return settle(warp, inst, mask);
}

Step commit_copies(Warp& warp, const Inst&, u32 mask) {
  queue_of(warp).commit(mask);
  if (RaceDetector* races = warp.cta->cluster->races.get()) races->commit_copies(warp, mask);
  return Step::Next;
}

/// imm: groups that may stay open; flag: wait_all, uncommitted copies included.
Step wait_copies(Warp& warp, const Inst& inst, u32 mask) {
  CopyQueue& queue = queue_of(warp);
  std::string problem;
  for (u32 rest = mask; rest != 0; rest &= rest - 1) {
    const u32 lane = Warp::first_lane(rest);
    const u64 committed = queue.group(lane);
    const u64 open = static_cast<u64>(inst.imm);
    const u64 end = inst.flag ? committed + 1 : committed > open ? committed - open : 0;
    if (!queue.complete_lane(*warp.cta->cluster, lane, end, problem)) {
      return broken(warp, inst, problem);
    }
    RaceDetector* races = warp.cta->cluster->races.get();
    if (races != nullptr) races->wait_copies(warp, lane, end, inst.flag);
  }
  return Step::Next;
}

/// flag: .noinc. Without it the pending count rises by one now, for the arrival to come.
Step arrive_after(Warp& warp, const Inst& inst, u32 mask) {
  if (!make_room(warp, inst)) return Step::Fault;
  CopyQueue& queue = queue_of(warp);
  queue.issuer = &inst;
  u32 where[kLanes];
  for (u32 rest = mask; rest != 0; rest &= rest - 1) {
    const u32 lane = Warp::first_lane(rest);
    AccessRequest request{inst.space,       lane_address(warp, inst, lane), 8, 8, lane, false,
                          "mbarrier access"};
    if (request.space == Space::Generic) {
      if ((request.address & kWindowMask) != kSharedWindow) {
        warp.active = 1U << lane;
        return broken(warp, inst, hex(request.address) + " is not shared memory");
      }
      request.space = Space::SharedCluster;
      request.address &= 0xFFFFFFFFU;
    }
    u32 offset = 0;
    Cta* cta = resolve_shared(warp, inst, request, offset);
    if (cta == nullptr) return Step::Fault;
    Mbarrier* barrier = cta->mbarriers.find(offset);
    if (barrier == nullptr) return broken(warp, inst, "it is not initialised");
    if (!inst.flag && ++barrier->pending > kMbarrierCountLimit) {
      return broken(warp, inst, "the pending count passes its limit of 1048575");
    }
    where[lane] = cta->rank << kRankShift | offset;
  }
  CopyQueue::Op& op = queue.push();
  op.is_arrive = true;
  op.pending = mask;
  op.warp = &warp;
  if (RaceDetector* races = warp.cta->cluster->races.get()) op.era = races->close_era(warp);
  each_active(mask, [&](u32 lane) {
    op.barrier[lane] = where[lane];
    op.group[lane] = queue.group(lane);
  });
  return settle(warp, inst, mask);
}

}  // namespace

Handler select_cp_async(Lowering& low) {
  Inst& out = low.out;
  low.ignore({"async", "ca", "cg"});
  low.ignore({"shared", "shared::cta", "global"});
  low.ignore_prefix("L2::");
  set_address(low, low.address(low.operand(0)), Space::Shared);
  const AddressOperand source = low.address(low.operand(1));
  out.b = source.base;
  out.e = source.base_bytes;
  if (source.offset != static_cast<i32>(source.offset)) return low.refuse("its offset is too big");
  out.target = static_cast<u32>(source.offset);
  const std::optional<i64> size = low.literal(low.operand(2));
  if (!size || (*size != 4 && *size != 8 && *size != 16)) {
    return low.refuse("cp-size must be 4, 8 or 16");
  }
  out.element_bytes = static_cast<u8>(*size);
  if (low.count() > 3) {
    const ir::Operand& fourth = low.operand(3);
    const bool is_predicate =
        fourth.kind == ir::OperandKind::NotRegister ||
        (fourth.kind == ir::OperandKind::Register && low.bits_of(fourth) == 1);
    const bool is_policy = fourth.kind == ir::OperandKind::Register && low.bits_of(fourth) == 64;
    if (is_predicate) {
      bool negated = false;
      out.c = low.predicate(fourth, negated);
      out.flip = negated ? kAllLanes : 0;
      out.kind = 2;
    } else if (!is_policy) {
      out.c = low.source(fourth, Ty::U32);
      out.kind = 1;
    }
  }
  return &copy;
}

Handler select_cp_async_commit(Lowering& low) {
  low.ignore({"async", "commit_group"});
  return &commit_copies;
}

Handler select_cp_async_wait(Lowering& low) {
  low.ignore({"async", "wait_group"});
  low.out.flag = low.is_word("wait_all");
  if (low.out.flag) return &wait_copies;
  const std::optional<i64> open = low.literal(low.operand(0));
  if (!open || *open < 0) return nullptr;
  low.out.imm = *open;
  return &wait_copies;
}

Handler select_cp_async_mbarrier_arrive(Lowering& low) {
  low.ignore({"async", "mbarrier", "arrive"});
  low.out.flag = low.take("noinc");
  const Space space = take_space(low);
  low.take_type();
  set_address(low, low.address(low.operand(0)), space);
  return &arrive_after;
}

}  // namespace pyptx::emu
