// SPDX-License-Identifier: Apache-2.0
//
// cp.async.bulk, cp.reduce.async.bulk, their prefetches and groups (PTX ISA, "Data Movement and
// Conversion Instructions: Bulk copy"). Everything that can be wrong about an operation is checked
// when it is issued.
#include "sem/memory/bulk.h"

#include <bit>

#include "decode/select.h"
#include "machine/cluster.h"
#include "race/detector.h"
#include "sem/lanes.h"

namespace pyptx::emu {

u64 bulk_address(Warp& warp, const Inst& inst, u32 field, u32 lane) {
  const u32* list = warp.program->lists.data() + inst.list;
  const u64 base =
      list[field + 1] == 4 ? warp.lanes32(list[field])[lane] : warp.lanes64(list[field])[lane];
  return base + static_cast<u64>(static_cast<i64>(static_cast<i32>(list[field + 2])));
}

Step refuse_bulk(Warp& warp, const Inst& inst, u32 lane, const std::string& why) {
  warp.active = 1U << lane;
  return warp.fail(inst, diag::Diagnostic(diag::Kind::EmuAsync,
                                          {warp.program->source(inst).spelling->text, why}));
}

bool shared_place(Warp& warp, const Inst& inst, AccessRequest request, u32& address) {
  if ((request.address & kWindowMask) == kSharedWindow) request.address &= 0xFFFFFFFFU;
  if (request.address % request.align != 0) {
    warp.active = 1U << request.lane;
    warp.fail(inst, diag::Diagnostic(diag::Kind::EmuMisaligned,
                                     {std::string(request.what),
                                      describe_address(warp, Space::Shared, request.address),
                                      std::to_string(request.align)}));
    return false;
  }
  u32 offset = 0;
  Cta* cta = resolve_shared(warp, inst, request, offset);
  if (cta == nullptr) return false;
  address = cta->rank << kRankShift | offset;
  if (!request.is_write) return true;
  if (const Mbarrier* hit = cta->mbarriers.overlap(offset, request.bytes)) {
    warp.active = 1U << request.lane;
    warp.fail(inst, diag::Diagnostic(diag::Kind::EmuMbarrier,
                                     {describe_address(warp, Space::Shared, hit->address),
                                      "a bulk copy overwrites it while it is live"}));
    return false;
  }
  return true;
}

bool set_barrier(Warp& warp, const Inst& inst, u32 lane, Space space, BulkOp& op) {
  const AccessRequest request{
      space, bulk_address(warp, inst, kBarrier, lane), 8, 8, lane, false, "mbarrier access"};
  if (!shared_place(warp, inst, request, op.barrier)) return false;
  Cta& cta = *warp.cta->cluster->ctas[op.barrier >> kRankShift];
  if (inst.flag || cta.mbarriers.find(op.barrier & kOffsetMask) != nullptr) return true;
  warp.active = 1U << lane;
  warp.fail(inst, diag::Diagnostic(diag::Kind::EmuMbarrier,
                                   {describe_address(warp, Space::Shared, op.barrier),
                                    "it is not initialised"}));
  return false;
}

bool set_completion(Warp& warp, const Inst& inst, u32 lane, BulkOp& op) {
  if (!set_barrier(warp, inst, lane, Space::SharedCluster, op)) return false;
  op.is_pair = inst.flag2;
  if (!inst.flag) return true;
  if (op.is_pair && warp.cta->cluster->ctas.size() % 2 != 0) {
    refuse_bulk(warp, inst, lane,
                ".cta_group::2 takes pairs of CTAs, the cluster has " +
                    std::to_string(warp.cta->cluster->ctas.size()));
    return false;
  }
  op.cta_mask = bulk_word(warp, inst, kMask, lane) & 0xFFFFU;
  const u32 ranks = static_cast<u32>(warp.cta->cluster->ctas.size());
  if (op.cta_mask == 0 || (op.cta_mask >> ranks) != 0) {
    refuse_bulk(
        warp, inst, lane,
        "the CTA mask " + hex(op.cta_mask) + " does not fit a cluster of " + std::to_string(ranks));
    return false;
  }
  return true;
}

u32 bulk_number(const Warp& warp) {
  return warp.cta->rank * static_cast<u32>(warp.cta->warps.size()) + warp.id;
}

BulkOp issued_by(Warp& warp, const Inst& inst, u32 lane) {
  BulkOp op;
  op.kind = static_cast<BulkOp::Kind>(inst.kind);
  op.inst = &inst;
  op.warp = &warp;
  op.lane = lane;
  op.issuer_rank = warp.cta->rank;
  op.group = warp.cta->cluster->bulk.group(bulk_number(warp), lane);
  op.reduce = static_cast<ReduceOp>(inst.kind2);
  op.keeps_subnormals = inst.sat;
  return op;
}

void add_bulk_address(std::vector<u32>& list, Lowering& low, const ir::Operand& operand) {
  const AddressOperand address = low.address(operand);
  if (address.offset != static_cast<i32>(address.offset)) low.refuse("its offset is too big");
  list.push_back(address.base);
  list.push_back(address.base_bytes);
  list.push_back(static_cast<u32>(address.offset));
}

ReduceOp take_reduce_op(Lowering& low) {
  return reduce_op(low.take_any({"add", "min", "max", "inc", "dec", "and", "or", "xor"}));
}

namespace {

/// The shared and global (or two shared) places of a copy; false with the fault recorded.
bool set_places(Warp& warp, const Inst& inst, u32 lane, BulkOp& op) {
  const bool is_load = op.kind != BulkOp::Kind::ToGlobal;
  // What is read is the CTA's own.
  AccessRequest request{is_load ? Space::SharedCluster : Space::Shared,
                        bulk_address(warp, inst, kShared, lane),
                        op.bytes,
                        16,
                        lane,
                        is_load,
                        "bulk copy"};
  if (!shared_place(warp, inst, request, op.shared)) return false;
  request.address = bulk_address(warp, inst, kOther, lane);
  request.is_write = !is_load;
  if (op.kind == BulkOp::Kind::SharedToShared) {
    request.space = Space::Shared;
    request.is_write = false;
    if (!shared_place(warp, inst, request, op.shared_from)) return false;
    if (op.shared < op.shared_from + op.bytes && op.shared_from < op.shared + op.bytes) {
      refuse_bulk(warp, inst, lane, "its source and its destination overlap");
      return false;
    }
    return true;
  }
  request.space = Space::Global;
  request.reads_too = op.reduce != ReduceOp::None;
  request.order = AccessOrder::Asynchronous;
  if (resolve(warp, inst, request) == nullptr) return false;
  op.global = request.address;
  return true;
}

/// kind: BulkOp::Kind; kind2: ReduceOp, of elements e (a Ty); flag: multicast.
Step bulk(Warp& warp, const Inst& inst, u32 mask) {
  Cluster& cluster = *warp.cta->cluster;
  for (u32 rest = mask; rest != 0; rest &= rest - 1) {
    const u32 lane = Warp::first_lane(rest);
    BulkOp op = issued_by(warp, inst, lane);
    op.type = static_cast<Ty>(inst.e);
    op.bytes = bulk_word(warp, inst, kSize, lane);
    if (op.bytes % 16 != 0) {
      return refuse_bulk(warp, inst, lane,
                         "the size must be a multiple of 16, got " + std::to_string(op.bytes));
    }
    if (op.bytes == 0) continue;
    if (!set_places(warp, inst, lane, op)) return Step::Fault;
    op.has_group = op.kind == BulkOp::Kind::ToGlobal;
    if (!op.has_group && !set_completion(warp, inst, lane, op)) return Step::Fault;
    if (!cluster.bulk.issue(cluster, op)) return Step::Fault;
  }
  return Step::Next;
}

/// Moves nothing that can be seen; the address must still be one.
Step prefetch(Warp& warp, const Inst& inst, u32 mask) {
  for (u32 rest = mask; rest != 0; rest &= rest - 1) {
    const u32 lane = Warp::first_lane(rest);
    const u32 bytes = warp.lanes32(inst.b)[lane];
    const AccessRequest request{
        Space::Global,   lane_address(warp, inst, lane), bytes, 16, lane, false,
        "bulk prefetch", AccessOrder::Elsewhere};
    if (bytes % 16 != 0) {
      return refuse_bulk(warp, inst, lane,
                         "the size must be a multiple of 16, got " + std::to_string(bytes));
    }
    if (bytes != 0 && resolve(warp, inst, request) == nullptr) return Step::Fault;
  }
  return Step::Next;
}

Step commit_bulk(Warp& warp, const Inst&, u32 mask) {
  warp.cta->cluster->bulk.commit(bulk_number(warp), mask);
  return Step::Next;
}

Step wait_bulk(Warp& warp, const Inst& inst, u32 mask) {
  Cluster& cluster = *warp.cta->cluster;
  for (u32 rest = mask; rest != 0; rest &= rest - 1) {
    const u32 lane = Warp::first_lane(rest);
    const u64 committed = cluster.bulk.group(bulk_number(warp), lane);
    const u64 open = static_cast<u64>(inst.imm);
    const u64 end = committed > open ? committed - open : 0;
    if (!cluster.bulk.complete_group(cluster, warp, lane, end)) return Step::Fault;
    if (cluster.races) cluster.races->wait_bulk(warp, lane, end, inst.flag);
  }
  return Step::Next;
}

/// Places and completion, which all linear copies spell alike.
void take_places(Lowering& low) {
  Inst& out = low.out;
  low.ignore({"async", "bulk", "reduce", "weak", "relaxed", "cta", "cluster", "gpu", "sys"});
  const bool to_group = low.take("bulk_group");
  low.take("mbarrier::complete_tx::bytes");
  out.flag = low.take("multicast::cluster");
  low.ignore_prefix("L2::");
  // A copy inside shared memory names two shared spaces and no global.
  const bool has_global = low.take("global");
  low.ignore({"shared::cluster", "shared::cta"});
  low.ignore({"shared::cta"});
  const BulkOp::Kind kind = to_group     ? BulkOp::Kind::ToGlobal
                            : has_global ? BulkOp::Kind::ToShared
                                         : BulkOp::Kind::SharedToShared;
  out.kind = static_cast<u8>(kind);
  std::vector<u32> list;
  add_bulk_address(list, low, low.operand(to_group ? 1 : 0));
  add_bulk_address(list, low, low.operand(to_group ? 0 : 1));
  if (to_group) {
    list.insert(list.end(), {0, 4, 0});
  } else {
    add_bulk_address(list, low, low.operand(3));
  }
  list.push_back(low.source(2, Ty::U32));
  // A 16-bit mask register lies in 32-bit lanes like any other.
  list.push_back(out.flag ? low.source(4, Ty::U16) : 0);
  low.set_list(list);
}

}  // namespace

Handler select_cp_async_bulk(Lowering& low) {
  take_places(low);
  return &bulk;
}

Handler select_cp_reduce_async_bulk(Lowering& low) {
  Inst& out = low.out;
  const ReduceOp op = take_reduce_op(low);
  const Ty type = low.take_type();
  out.sat = low.take("noftz");
  out.kind2 = static_cast<u8>(op);
  out.e = static_cast<u32>(type);
  if (!can_reduce(op, type)) return nullptr;
  take_places(low);
  // Clusters that add to one another's results run in turns, in a fixed order.
  if (static_cast<BulkOp::Kind>(out.kind) == BulkOp::Kind::ToGlobal)
    low.program().is_ordered = true;
  return &bulk;
}

Handler select_bulk_prefetch(Lowering& low) {
  low.ignore({"async", "bulk", "prefetch", "L2", "global", "bulk_group", "applypriority"});
  low.ignore_prefix("L2::");
  low.ignore_prefix("evict");
  set_address(low, low.address(low.operand(0)), Space::Global);
  low.out.b = low.source(1, Ty::U32);
  return &prefetch;
}

Handler select_bulk_commit(Lowering& low) {
  low.ignore({"async", "bulk", "commit_group"});
  return &commit_bulk;
}

Handler select_bulk_wait(Lowering& low) {
  low.ignore({"async", "bulk", "wait_group"});
  low.out.flag = low.take("read");
  const std::optional<i64> open = low.literal(low.operand(0));
  if (!open || *open < 0) return nullptr;
  low.out.imm = *open;
  return &wait_bulk;
}

}  // namespace pyptx::emu
