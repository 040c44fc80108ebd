// SPDX-License-Identifier: Apache-2.0
//
// atom and red (PTX ISA, "Parallel Synchronization and Communication Instructions: atom, red"):
// every operation and type, scalars and vectors. Lanes take effect in lane order. Clusters that use
// global atomics run in turns on one thread, so a plain read-modify-write is atomic.
#include <array>
#include <cstring>

#include "decode/select.h"
#include "machine/cluster.h"
#include "numerics/half.h"
#include "sem/lane.h"
#include "sem/sync/atomic_op.h"

namespace pyptx::emu {
namespace {

bool is_shared(const AccessRequest& request) {
  return request.space == Space::Shared || request.space == Space::SharedCluster ||
         (request.space == Space::Generic && (request.address & kWindowMask) == kSharedWindow);
}

std::byte* locate(Warp& warp, const Inst& inst, u32 lane, u32 bytes, bool& is_in_shared) {
  AccessRequest request;
  request.space = inst.space;
  request.address = lane_address(warp, inst, lane);
  request.bytes = request.align = bytes;
  request.lane = lane;
  request.is_write = true;
  request.what = "atomic";
  request.reads_too = static_cast<AtomicOp>(inst.kind) != AtomicOp::Exch;
  set_order(inst.e, request);
  request.is_atomic = true;
  request.is_blind = inst.round == Round::Zero;
  is_in_shared = is_shared(request);
  return resolve(warp, inst, request);
}

/// kind: AtomicOp, target: the element type, flag: there is a result, flag2: .noftz, e: order and
/// scope, round: Zero for red, which gives nobody what it read.
Step update(Warp& warp, const Inst& inst, u32 mask) {
  const Ty type = static_cast<Ty>(inst.target);
  const u32 bytes = bytes_of(type);
  const u32 lane_size = lane_bytes(info(type).bits);
  for (u32 rest = mask; rest != 0; rest &= rest - 1) {
    const u32 lane = Warp::first_lane(rest);
    bool is_in_shared = false;
    std::byte* at = locate(warp, inst, lane, bytes, is_in_shared);
    if (at == nullptr) return Step::Fault;
    u64 old = 0;
    std::memcpy(&old, at, bytes);
    AtomicOperands operands;
    operands.old = old;
    operands.b = read_lane(warp, inst.b, lane_size, lane);
    operands.c = read_lane(warp, inst.c, lane_size, lane);
    // atom.add.f32 flushes subnormals on global memory, not on shared memory.
    operands.flushes = !inst.flag2 && !is_in_shared;
    operands.quiets = is_in_shared;  // the sum is an instruction of its own there
    const u64 next = apply(static_cast<AtomicOp>(inst.kind), type, operands);
    std::memcpy(at, &next, bytes);
    if (inst.flag) write_lane(warp, inst.d, lane_size, lane, old);
  }
  ++warp.cta->cluster->progress;
  // A lock that another CTA holds is asked for again and again: the others go on first.
  const AtomicOp op = static_cast<AtomicOp>(inst.kind);
  const bool may_poll = op == AtomicOp::Cas || op == AtomicOp::Exch;
  return may_poll ? Step::Yield : Step::Next;
}

/// exch and cas of 128 bits: registers are two planes of 64-bit lanes.
Step update128(Warp& warp, const Inst& inst, u32 mask) {
  using Value = std::array<u64, 2>;
  const auto read = [&](u32 offset, u32 lane) {
    return Value{warp.lanes64(offset)[lane], warp.lanes64(offset)[lane + kLanes]};
  };
  for (u32 rest = mask; rest != 0; rest &= rest - 1) {
    const u32 lane = Warp::first_lane(rest);
    bool is_in_shared = false;
    std::byte* at = locate(warp, inst, lane, sizeof(Value), is_in_shared);
    if (at == nullptr) return Step::Fault;
    Value old{};
    std::memcpy(old.data(), at, sizeof(Value));
    const Value b = read(inst.b, lane);
    Value next = b;
    if (static_cast<AtomicOp>(inst.kind) == AtomicOp::Cas) {
      next = old == b ? read(inst.c, lane) : old;
    }
    std::memcpy(at, next.data(), sizeof(Value));
    if (!inst.flag) continue;
    warp.lanes64(inst.d)[lane] = old[0];
    warp.lanes64(inst.d)[lane + kLanes] = old[1];
  }
  ++warp.cta->cluster->progress;
  return Step::Next;
}

/// Vectors: the list holds the sources, then the results where there are any. Each element is an
/// atomic of its own.
Step update_vector(Warp& warp, const Inst& inst, u32 mask) {
  const Ty type = static_cast<Ty>(inst.target);
  const u32 bytes = bytes_of(type);
  const u32* list = warp.program->lists.data() + inst.list;
  const u32 count = inst.flag ? inst.list_count / 2U : inst.list_count;
  for (u32 rest = mask; rest != 0; rest &= rest - 1) {
    const u32 lane = Warp::first_lane(rest);
    bool is_in_shared = false;
    std::byte* at = locate(warp, inst, lane, bytes * count, is_in_shared);
    if (at == nullptr) return Step::Fault;
    for (u32 k = 0; k < count; ++k) {
      AtomicOperands operands;
      std::memcpy(&operands.old, at + k * bytes, bytes);
      operands.b = warp.lanes32(list[k])[lane];
      operands.flushes = !inst.flag2;
      const u64 next = apply(static_cast<AtomicOp>(inst.kind), type, operands);
      std::memcpy(at + k * bytes, &next, bytes);
      if (inst.flag) warp.lanes32(list[count + k])[lane] = static_cast<u32>(operands.old);
    }
  }
  ++warp.cta->cluster->progress;
  return Step::Next;
}

Handler vector(Lowering& low, Ty type, std::size_t first, u32 elements) {
  std::vector<u32> list;
  for (const ir::Operand& part : low.children(low.operand(first + 1))) {
    list.push_back(low.source(part, type));
  }
  if (low.out.flag) {
    for (const ir::Operand& part : low.children(low.operand(0))) {
      list.push_back(low.dest(part, type));
    }
  }
  const bool is_whole = list.size() == (low.out.flag ? 2 : 1) * std::size_t{elements};
  if (!is_whole || lane_bytes(info(type).bits) != 4) {
    return low.refuse("its vectors have another number or width of elements");
  }
  low.set_list(list);
  return &update_vector;
}

Handler choose(Lowering& low, bool has_result) {
  Inst& out = low.out;
  out.e = order_of(low, low.take_any({"relaxed", "acquire", "release", "acq_rel"}));
  low.ignore({"cta", "cluster", "gpu", "sys"});
  if (!has_result) out.round = Round::Zero;
  low.ignore_prefix("L2::");
  const Space space = take_space(low);
  if (space != Space::Shared && space != Space::SharedCluster) low.program().is_ordered = true;
  const Ty type = low.take_type();
  const std::optional<AtomicOp> op = take_atomic_op(low);
  if (!op) return nullptr;
  out.kind = static_cast<u8>(*op);
  out.target = static_cast<u32>(type);
  out.flag = has_result && low.operand(0).kind != ir::OperandKind::Sink;
  out.flag2 = low.take("noftz");
  const std::size_t first = has_result ? 1 : 0;
  set_address(low, low.address(low.operand(first)), space);
  low.access.kind = MemoryAccess::Kind::Atomic;
  low.access.bytes = static_cast<u16>(bytes_of(type));
  if (const auto count = low.take_any({"v2", "v4", "v8"}); !count.empty()) {
    const u32 elements = static_cast<u32>(count[1] - '0');
    low.access.bytes = static_cast<u16>(low.access.bytes * elements);
    return vector(low, type, first, elements);
  }
  if (out.flag) out.d = low.dest(0, type);
  out.b = low.source(first + 1, type);
  out.c = *op == AtomicOp::Cas ? low.source(first + 2, type) : out.b;
  return type == Ty::B128 ? &update128 : &update;
}

}  // namespace

Handler select_atom(Lowering& low) { return choose(low, true); }
Handler select_red(Lowering& low) { return choose(low, false); }

}  // namespace pyptx::emu
