// SPDX-License-Identifier: Apache-2.0
//
// Asynchronous operations on a word: st.async and red.async on a cluster's shared memory (PTX ISA,
// "st.async", "red.async").
#include <cstring>

#include "decode/select.h"
#include "machine/cluster.h"
#include "sem/lanes.h"
#include "sem/memory/bulk.h"

namespace pyptx::emu {
namespace {

/// The value registers of one lane, in the order of memory.
void gather(Warp& warp, const Inst& inst, u32 lane, BulkOp& op) {
  const u32* list = warp.program->lists.data() + inst.list + kCoordinates;
  const u32 element = inst.element_bytes;
  for (u32 i = 0; i < inst.c; ++i) {
    std::byte* to = op.data.data() + i * element;
    if (element == 16) {
      std::memcpy(to, &warp.lanes64(list[i])[lane], 8);
      std::memcpy(to + 8, &warp.lanes64(list[i])[lane + kLanes], 8);
    } else if (element == 8) {
      std::memcpy(to, &warp.lanes64(list[i])[lane], 8);
    } else {
      std::memcpy(to, &warp.lanes32(list[i])[lane], 4);
    }
  }
  op.bytes = u64{inst.c} * element;
}

/// element_bytes, c: size and number of the elements; kind2: ReduceOp, of type e.
Step send(Warp& warp, const Inst& inst, u32 mask) {
  Cluster& cluster = *warp.cta->cluster;
  for (u32 rest = mask; rest != 0; rest &= rest - 1) {
    const u32 lane = Warp::first_lane(rest);
    BulkOp op = issued_by(warp, inst, lane);
    op.type = static_cast<Ty>(inst.e);
    gather(warp, inst, lane, op);
    const AccessRequest request{Space::SharedCluster,
                                bulk_address(warp, inst, kShared, lane),
                                op.bytes,
                                static_cast<u32>(op.bytes),
                                lane,
                                true,
                                "async store"};
    if (!shared_place(warp, inst, request, op.shared)) return Step::Fault;
    if (!set_completion(warp, inst, lane, op)) return Step::Fault;
    if ((op.barrier ^ op.shared) >> kRankShift != 0) {
      return refuse_bulk(warp, inst, lane, "its mbarrier is not in the CTA that it writes to");
    }
    if (!cluster.bulk.issue(cluster, op)) return Step::Fault;
  }
  return Step::Next;
}

bool set_word_operands(Lowering& low, Ty type, u32 elements) {
  Inst& out = low.out;
  if (low.count() < 3) {
    low.refuse("without an mbarrier it is for hardware only");
    return false;
  }
  std::vector<u32> list;
  add_bulk_address(list, low, low.operand(0));
  list.insert(list.end(), {0, 4, 0});
  add_bulk_address(list, low, low.operand(2));
  list.insert(list.end(), {0, 0});
  const ir::Operand& value = low.operand(1);
  if (value.kind == ir::OperandKind::Vector) {
    for (const ir::Operand& one : low.children(value)) list.push_back(low.source(one, type));
  } else {
    list.push_back(low.source(value, type));
  }
  out.c = static_cast<u32>(list.size()) - kCoordinates;
  out.element_bytes = static_cast<u8>(bytes_of(type));
  out.kind = static_cast<u8>(BulkOp::Kind::Word);
  low.set_list(list);
  return out.c == elements && u64{out.c} * out.element_bytes <= sizeof(BulkOp::data);
}

}  // namespace

Handler select_st_async(Lowering& low) {
  low.ignore({"async", "weak", "cluster", "shared", "shared::cta", "shared::cluster",
              "mbarrier::complete_tx::bytes"});
  const std::string_view vector = low.take_any({"v2", "v4"});
  const Ty type = low.take_type();
  const u32 elements = vector.empty() ? 1 : static_cast<u32>(vector[1] - '0');
  return set_word_operands(low, type, elements) ? &send : nullptr;
}

Handler select_red_async(Lowering& low) {
  low.ignore({"async", "relaxed", "cluster", "shared::cluster", "mbarrier::complete_tx::bytes"});
  const ReduceOp op = take_reduce_op(low);
  const Ty type = low.take_type();
  low.out.kind2 = static_cast<u8>(op);
  low.out.e = static_cast<u32>(type);
  if (!can_reduce(op, type)) return nullptr;
  return set_word_operands(low, type, 1) ? &send : nullptr;
}

}  // namespace pyptx::emu
