// SPDX-License-Identifier: Apache-2.0
//
// cp.async.bulk, cp.async.bulk.tensor (tile mode) and their groups (PTX ISA, "Data Movement and
// Conversion Instructions: Bulk copy, Tensor copy"). Everything that can be wrong about an
// operation is checked when it is issued.
#include <bit>

#include "cluster.h"
#include "lanes.h"
#include "select.h"
#include "tensor_map.h"

namespace pyptx::emu {
namespace {

/// Operands of a bulk copy as a list: each address is (base, lane bytes, offset).
enum Field : u32 {
  kShared,
  kSharedBytes,
  kSharedOffset,
  kOther,
  kOtherBytes,
  kOtherOffset,
  kBarrier,
  kBarrierBytes,
  kBarrierOffset,
  kSize,
  kMask,
  kCoordinates
};

u64 address_of(Warp& warp, const Inst& inst, u32 field, u32 lane) {
  const u32* list = warp.program->lists.data() + inst.list;
  const u64 base =
      list[field + 1] == 4 ? warp.lanes32(list[field])[lane] : warp.lanes64(list[field])[lane];
  return base + static_cast<u64>(static_cast<i64>(static_cast<i32>(list[field + 2])));
}

u32 word_of(Warp& warp, const Inst& inst, u32 field, u32 lane) {
  return warp.lanes32(warp.program->lists[inst.list + field])[lane];
}

Step refuse(Warp& warp, const Inst& inst, u32 lane, const std::string& why) {
  warp.active = 1U << lane;
  return warp.fail(inst, diag::Diagnostic(diag::Kind::EmuAsync,
                                          {warp.program->source(inst).spelling->text, why}));
}

/// Shared address with its rank, checked; the generic form is accepted too.
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

/// The mbarrier and multicast mask of a load.
bool set_completion(Warp& warp, const Inst& inst, u32 lane, BulkOp& op) {
  AccessRequest request{
      Space::SharedCluster, address_of(warp, inst, kBarrier, lane), 8, 8, lane, false,
      "mbarrier access"};
  if (!shared_place(warp, inst, request, op.barrier)) return false;
  Cta& cta = *warp.cta->cluster->ctas[op.barrier >> kRankShift];
  if (!inst.flag && cta.mbarriers.find(op.barrier & kOffsetMask) == nullptr) {
    warp.active = 1U << lane;
    warp.fail(inst, diag::Diagnostic(diag::Kind::EmuMbarrier,
                                     {describe_address(warp, Space::Shared, op.barrier),
                                      "it is not initialised"}));
    return false;
  }
  if (!inst.flag) return true;
  op.cta_mask = word_of(warp, inst, kMask, lane) & 0xFFFFU;
  const u32 ranks = static_cast<u32>(warp.cta->cluster->ctas.size());
  if (op.cta_mask == 0 || (op.cta_mask >> ranks) != 0) {
    refuse(
        warp, inst, lane,
        "the CTA mask " + hex(op.cta_mask) + " does not fit a cluster of " + std::to_string(ranks));
    return false;
  }
  return true;
}

BulkOp issued_by(Warp& warp, const Inst& inst, u32 lane) {
  BulkOp op;
  op.kind = static_cast<BulkOp::Kind>(inst.kind);
  op.inst = &inst;
  op.warp = &warp;
  op.lane = lane;
  op.issuer_rank = warp.cta->rank;
  const u32 number = warp.cta->rank * static_cast<u32>(warp.cta->warps.size()) + warp.id;
  op.group = warp.cta->cluster->bulk.group(number, lane);
  return op;
}

/// kind: BulkOp::Kind; flag: multicast.
Step bulk(Warp& warp, const Inst& inst, u32 mask) {
  Cluster& cluster = *warp.cta->cluster;
  for (u32 rest = mask; rest != 0; rest &= rest - 1) {
    const u32 lane = Warp::first_lane(rest);
    BulkOp op = issued_by(warp, inst, lane);
    op.bytes = word_of(warp, inst, kSize, lane);
    if (op.bytes % 16 != 0) {
      return refuse(warp, inst, lane,
                    "the size must be a multiple of 16, got " + std::to_string(op.bytes));
    }
    if (op.bytes == 0) continue;
    const bool is_load = op.kind != BulkOp::Kind::ToGlobal;
    // What is read is the CTA's own.
    AccessRequest request{is_load ? Space::SharedCluster : Space::Shared,
                          address_of(warp, inst, kShared, lane),
                          op.bytes,
                          16,
                          lane,
                          is_load,
                          "bulk copy"};
    if (!shared_place(warp, inst, request, op.shared)) return Step::Fault;
    request.address = address_of(warp, inst, kOther, lane);
    request.is_write = !is_load;
    if (op.kind == BulkOp::Kind::SharedToShared) {
      request.space = Space::Shared;
      request.is_write = false;
      if (!shared_place(warp, inst, request, op.shared_from)) return Step::Fault;
      if (op.shared < op.shared_from + op.bytes && op.shared_from < op.shared + op.bytes) {
        return refuse(warp, inst, lane, "its source and its destination overlap");
      }
    } else {
      request.space = Space::Global;
      if (resolve(warp, inst, request) == nullptr) return Step::Fault;
      op.global = request.address;
    }
    if (is_load && !set_completion(warp, inst, lane, op)) return Step::Fault;
    op.has_group = !is_load;
    if (!cluster.bulk.issue(cluster, op)) return Step::Fault;
  }
  return Step::Next;
}

bool read_map(Warp& warp, const Inst& inst, u32 lane, BulkOp& op) {
  AccessRequest request{
      Space::Generic,   address_of(warp, inst, kOther, lane), 128, 64, lane, false,
      "tensor map read"};
  const std::byte* bytes = resolve(warp, inst, request);
  if (bytes == nullptr) return false;
  const std::optional<DecodedMap> decoded = decode_map(bytes);
  const auto bad = [&](const std::string& why) {
    warp.active = 1U << lane;
    warp.fail(inst, diag::Diagnostic(diag::Kind::EmuTensorMap, {why}));
    return false;
  };
  if (!decoded) {
    return bad("the 128 bytes at " + hex(request.address) +
               " were not made by the emulator; a map made by a CUDA driver is opaque");
  }
  op.map = decoded->map;
  op.global = decoded->address;
  if (op.map.rank != inst.element_bytes) {
    return bad("it has " + std::to_string(op.map.rank) + " dimensions, the instruction names " +
               std::to_string(inst.element_bytes));
  }
  if (const auto problem = op.map.problem(op.global)) return bad(*problem);
  return true;
}

/// The global bytes that the in-bounds part of the box touches must lie in one buffer.
bool check_global(Warp& warp, const Inst& inst, u32 lane, const BulkOp& op, bool is_write) {
  bool is_huge = false;  // a map may name a tensor larger than any memory
  u64 low = op.global;
  u64 high = op.global + layout::element_bytes(op.map.type);
  for (u32 d = 0; d < op.map.rank; ++d) {
    const i64 first = std::max<i64>(op.coordinates[d], 0);
    const i64 last =
        std::min<i64>(i64{op.coordinates[d]} + op.map.box[d], static_cast<i64>(op.map.dims[d])) - 1;
    if (last < first) return true;  // all of it is out of bounds: no access
    const u64 stride = d == 0 ? layout::element_bytes(op.map.type) : op.map.strides[d - 1];
    u64 span = 0;
    is_huge = is_huge || __builtin_mul_overflow(static_cast<u64>(last), stride, &span) ||
              __builtin_add_overflow(high, span, &high);
    low += static_cast<u64>(first) * stride;
  }
  const u64 bytes = is_huge ? ~0ULL : high - low;
  const AccessRequest request{Space::Global, low, bytes, 1, lane, is_write, "tensor copy"};
  return resolve(warp, inst, request) != nullptr;
}

Step tensor(Warp& warp, const Inst& inst, u32 mask) {
  Cluster& cluster = *warp.cta->cluster;
  for (u32 rest = mask; rest != 0; rest &= rest - 1) {
    const u32 lane = Warp::first_lane(rest);
    BulkOp op = issued_by(warp, inst, lane);
    if (!read_map(warp, inst, lane, op)) return Step::Fault;
    for (u32 d = 0; d < op.map.rank; ++d) {
      op.coordinates[d] = static_cast<i32>(word_of(warp, inst, kCoordinates + d, lane));
    }
    op.bytes = op.map.box_bytes();
    const bool is_load = op.kind == BulkOp::Kind::TensorLoad;
    if (!check_global(warp, inst, lane, op, !is_load)) return Step::Fault;
    // The XOR of a swizzle stays inside one span, which may reach past the end of the tile.
    const u64 span = layout::swizzle_span(op.map.swizzle);
    AccessRequest request{is_load ? Space::SharedCluster : Space::Shared,
                          address_of(warp, inst, kShared, lane),
                          (op.bytes + span - 1) / span * span,
                          128,
                          lane,
                          is_load,
                          "tensor copy"};
    if (!shared_place(warp, inst, request, op.shared)) return Step::Fault;
    if (is_load && !set_completion(warp, inst, lane, op)) return Step::Fault;
    op.has_group = !is_load;
    if (!cluster.bulk.issue(cluster, op)) return Step::Fault;
  }
  return Step::Next;
}

u32 number_of(const Warp& warp) {
  return warp.cta->rank * static_cast<u32>(warp.cta->warps.size()) + warp.id;
}

Step commit(Warp& warp, const Inst&, u32 mask) {
  warp.cta->cluster->bulk.commit(number_of(warp), mask);
  return Step::Next;
}

Step wait(Warp& warp, const Inst& inst, u32 mask) {
  Cluster& cluster = *warp.cta->cluster;
  for (u32 rest = mask; rest != 0; rest &= rest - 1) {
    const u32 lane = Warp::first_lane(rest);
    const u64 committed = cluster.bulk.group(number_of(warp), lane);
    const u64 open = static_cast<u64>(inst.imm);
    const u64 end = committed > open ? committed - open : 0;
    if (!cluster.bulk.complete_group(cluster, warp, lane, end)) return Step::Fault;
  }
  return Step::Next;
}

void add_address(std::vector<u32>& list, Lowering& low, const ir::Operand& operand) {
  const AddressOperand address = low.address(operand);
  if (address.offset != static_cast<i32>(address.offset)) low.refuse("its offset is too big");
  list.push_back(address.base);
  list.push_back(address.base_bytes);
  list.push_back(static_cast<u32>(address.offset));
}

/// A 16-bit mask register lies in 32-bit lanes like any other.
u32 mask_lanes(Lowering& low, const ir::Operand& operand) { return low.source(operand, Ty::U16); }

}  // namespace

Handler select_cp_async_bulk(Lowering& low) {
  Inst& out = low.out;
  low.ignore({"async", "bulk"});
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
  add_address(list, low, low.operand(to_group ? 1 : 0));
  add_address(list, low, low.operand(to_group ? 0 : 1));
  if (to_group) {
    list.insert(list.end(), {0, 4, 0});
  } else {
    add_address(list, low, low.operand(3));
  }
  list.push_back(low.source(2, Ty::U32));
  list.push_back(out.flag ? mask_lanes(low, low.operand(4)) : 0);
  low.set_list(list);
  return &bulk;
}

Handler select_cp_async_bulk_tensor(Lowering& low) {
  Inst& out = low.out;
  low.ignore({"async", "bulk", "tensor", "tile", "global", "mbarrier::complete_tx::bytes"});
  const bool to_group = low.take("bulk_group");
  const std::string_view dim = low.take_any({"1d", "2d", "3d", "4d", "5d"});
  if (dim.empty()) return nullptr;
  out.element_bytes = static_cast<u8>(dim[0] - '0');
  out.flag = low.take("multicast::cluster");
  low.ignore({"shared::cluster", "shared::cta", "cta_group::1"});
  low.ignore_prefix("L2::");
  out.kind = static_cast<u8>(to_group ? BulkOp::Kind::TensorStore : BulkOp::Kind::TensorLoad);
  const ir::Operand& map = low.operand(to_group ? 0 : 1);
  const auto parts = low.children(map);
  if (map.kind != ir::OperandKind::Address || parts.size() != 2) return nullptr;
  std::vector<u32> list;
  add_address(list, low, low.operand(to_group ? 1 : 0));
  add_address(list, low, map);
  if (to_group) {
    list.insert(list.end(), {0, 4, 0});
  } else {
    add_address(list, low, low.operand(2));
  }
  list.push_back(0);
  list.push_back(out.flag ? mask_lanes(low, low.operand(3)) : 0);
  const auto coordinates = low.children(parts[1]);
  if (coordinates.size() != out.element_bytes) {
    return low.refuse("it needs " + std::to_string(out.element_bytes) + " coordinates");
  }
  for (const ir::Operand& coordinate : coordinates) {
    list.push_back(low.source(coordinate, Ty::S32));
  }
  low.set_list(list);
  return &tensor;
}

Handler select_bulk_commit(Lowering& low) {
  low.ignore({"async", "bulk", "commit_group"});
  return &commit;
}

Handler select_bulk_wait(Lowering& low) {
  low.ignore({"async", "bulk", "wait_group", "read"});
  const std::optional<i64> open = low.literal(low.operand(0));
  if (!open || *open < 0) return nullptr;
  low.out.imm = *open;
  return &wait;
}

}  // namespace pyptx::emu
