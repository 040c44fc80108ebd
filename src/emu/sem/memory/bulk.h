// SPDX-License-Identifier: Apache-2.0
//
// What the bulk and the tensor copies share: operands as a list, addresses of shared memory, and
// how an operation says that it is complete. The instructions are sem/memory/bulk.cpp and
// sem/memory/tensor.cpp.
#pragma once

#include "async/bulk_queue.h"
#include "decode/lowering.h"
#include "memory/memory.h"

namespace pyptx::emu {

/// Operands of a copy in Program::lists: each address is (base, lane bytes, offset).
enum BulkField : u32 {
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
  kCoordinates  // then the offsets of im2col
};

u64 bulk_address(Warp& warp, const Inst& inst, u32 field, u32 lane);
inline u32 bulk_word(Warp& warp, const Inst& inst, u32 field, u32 lane) {
  return warp.lanes32(warp.program->lists[inst.list + field])[lane];
}
Step refuse_bulk(Warp& warp, const Inst& inst, u32 lane, const std::string& why);
/// Shared address with its rank, checked; the generic form is accepted too.
bool shared_place(Warp& warp, const Inst& inst, AccessRequest request, u32& address);
/// The mbarrier that says that the operation is complete; of a multicast (inst.flag) each CTA has
/// one, which is looked for when it is.
bool set_barrier(Warp& warp, const Inst& inst, u32 lane, Space space, BulkOp& op);
/// The mbarrier and multicast mask of a copy into shared memory. inst.flag: multicast, flag2:
/// .cta_group::2.
bool set_completion(Warp& warp, const Inst& inst, u32 lane, BulkOp& op);
BulkOp issued_by(Warp& warp, const Inst& inst, u32 lane);
/// Number of the warp in its cluster.
u32 bulk_number(const Warp& warp);

void add_bulk_address(std::vector<u32>& list, Lowering& low, const ir::Operand& operand);
/// Consumes the operation of a reduction.
ReduceOp take_reduce_op(Lowering& low);

}  // namespace pyptx::emu
