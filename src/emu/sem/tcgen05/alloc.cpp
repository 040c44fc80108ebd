// SPDX-License-Identifier: Apache-2.0
//
// tcgen05.alloc, dealloc and relinquish_alloc_permit (PTX ISA, "Tensor Memory Allocation and
// Management Instructions"): by one warp, or by one warp of each CTA of a pair together.
#include <bit>
#include <cstring>

#include "decode/select.h"
#include "machine/cluster.h"
#include "observe/observer.h"
#include "race/detector.h"
#include "sem/matrix/mma.h"
#include "sem/tcgen05/tcgen05.h"

namespace pyptx::emu {

Step refuse_tensor(Warp& warp, const Inst& inst, diag::Kind kind, const std::string& why) {
  return warp.fail(inst, diag::Diagnostic(kind, {warp.program->source(inst).spelling->text, why}));
}

Step refuse_place(Warp& warp, const Inst& inst, diag::Kind kind, const TensorAddress& at,
                  const std::string& why) {
  return warp.fail(inst, diag::Diagnostic(kind, {warp.program->source(inst).spelling->text,
                                                 tensor_text(at.lane, at.column), why}));
}

std::optional<u32> take_cta_group(Lowering& low) {
  const std::string_view word = low.take_any({"cta_group::1", "cta_group::2"});
  const u32 group = word == "cta_group::2" ? 2 : 1;
  u32& known = low.program().cta_group;
  if (known != 0 && known != group) {
    low.refuse("all tcgen05 instructions of a kernel have the same .cta_group, and another has " +
               std::to_string(known));
    return std::nullopt;
  }
  known = group;
  return group;
}

Cta* peer_of(Warp& warp, const Inst& inst) {
  const Cluster& cluster = *warp.cta->cluster;
  const u32 peer = warp.cta->rank ^ 1U;
  if (peer >= cluster.ctas.size()) {
    refuse_tensor(warp, inst, diag::Kind::EmuTensorAllocation,
                  "the CTA has no peer: the cluster has " + std::to_string(cluster.ctas.size()) +
                      " CTA, .cta_group::2 takes pairs");
    return nullptr;
  }
  return cluster.ctas[peer].get();
}

Step same_value(Warp& warp, const Inst& inst, u32 offset, std::string_view name) {
  const u32* lanes = warp.lanes32(offset);
  for (u32 lane = 1; lane < kLanes; ++lane) {
    if (lanes[lane] == lanes[0]) continue;
    warp.active = 1U << lane;
    return warp.fail(inst, diag::Diagnostic(diag::Kind::EmuConvergence,
                                            {warp.program->source(inst).spelling->text,
                                             "the lanes of the warp do not agree about the " +
                                                 std::string(name)}));
  }
  return Step::Next;
}

namespace {

Step refuse(Warp& warp, const Inst& inst, const std::string& why) {
  return refuse_tensor(warp, inst, diag::Kind::EmuTensorAllocation, why);
}

TensorMemory& memory_of_pair(Warp& warp) {
  return warp.cta->cluster->ctas[warp.cta->rank & ~1U]->tensor;
}

bool is_size(u32 columns) {
  return columns >= kTensorUnit && columns <= kTensorColumns && std::has_single_bit(columns);
}

Step check_size(Warp& warp, const Inst& inst, u32 columns) {
  if (is_size(columns)) return Step::Next;
  return refuse(
      warp, inst,
      std::to_string(columns) + " columns: their number is a power of two from 32 to 512");
}

Step check_allocation(Warp& warp, const Inst& inst, u32 columns) {
  if (check_size(warp, inst, columns) == Step::Fault) return Step::Fault;
  const TensorMemory& memory = warp.cta->tensor;
  if (memory.relinquished != nullptr) {
    return refuse(warp, inst, "the CTA has given up the right to allocate");
  }
  if (columns > memory.last_columns) {
    return refuse(warp, inst,
                  std::to_string(columns) + " columns after an allocation of " +
                      std::to_string(memory.last_columns) + ": allocations of a CTA must not grow");
  }
  return Step::Next;
}

/// Allocates and writes the address where the warp wants it.
Step take(Warp& warp, const Inst& inst, u32 first, u32 columns, u64 slot) {
  const AccessRequest request{inst.space, slot, 4, 4, 0, true, "store", AccessOrder::Collective};
  std::byte* to = resolve(warp, inst, request);
  if (to == nullptr) return Step::Fault;
  warp.cta->tensor.allocate(first, columns, inst);
  if (Observer* observer = warp.cta->cluster->observer.get()) {
    observer->allocated(warp, inst, first, columns);
  }
  std::memcpy(to, &first, 4);
  // Every thread of the warp may read what the warp has stored.
  if (RaceDetector* races = warp.cta->cluster->races.get()) races->sync_lanes(warp);
  ++warp.cta->cluster->progress;
  return Step::Next;
}

Step wait_for_columns(Warp& warp, u32 columns) {
  Wait wait;
  wait.kind = Wait::Kind::TensorColumns;
  wait.value = columns;
  return warp.block(wait);
}

Step wait_for_peer(Warp& warp, bool is_free, u64 met) {
  Wait wait;
  wait.kind = Wait::Kind::TensorPair;
  wait.address = is_free ? 1 : 0;
  wait.value = met;
  return warp.block(wait);
}

constexpr const char* kTwoWarps =
    "another warp of the CTA is at it: one warp of each CTA takes part";

bool is_taken(const std::array<PairCall, 2>& calls, const Warp& warp) {
  const Warp* here = calls[warp.cta->rank & 1U].warp;
  return here != nullptr && here != &warp;
}

/// Notes the call of one side. Null: the other side is not here yet.
const PairCall* meet(std::array<PairCall, 2>& calls, const PairCall& mine) {
  const u32 side = mine.warp->cta->rank & 1U;
  calls[side] = mine;
  return calls[side ^ 1U].warp == nullptr ? nullptr : &calls[side ^ 1U];
}

Step check_pair(Warp& warp, const Inst& inst, const PairCall& mine, const PairCall& other) {
  if (mine.columns == other.columns) return Step::Next;
  return refuse(warp, inst,
                "the warps of the pair do not agree about the number of columns: " +
                    std::to_string(mine.columns) + " and " + std::to_string(other.columns));
}

Step allocate_pair(Warp& warp, const Inst& inst, u32 columns, u64 slot) {
  TensorMemory& pair = memory_of_pair(warp);
  if (peer_of(warp, inst) == nullptr) return Step::Fault;
  const PairCall mine{&warp, &inst, columns, slot};
  if (is_taken(pair.allocates, warp)) return refuse(warp, inst, kTwoWarps);
  const PairCall* other = meet(pair.allocates, mine);
  if (other == nullptr) return wait_for_peer(warp, false, pair.allocated_pairs);
  if (check_pair(warp, inst, mine, *other) == Step::Fault) return Step::Fault;
  const auto first = pair.fit(columns);
  if (!first) return wait_for_peer(warp, false, pair.allocated_pairs);
  if (take(*other->warp, *other->inst, *first, columns, other->address) == Step::Fault ||
      take(warp, inst, *first, columns, slot) == Step::Fault) {
    return Step::Fault;
  }
  pair.allocates = {};
  ++pair.allocated_pairs;
  return Step::Next;
}

/// a: where the address goes; b: columns; kind: CTAs.
Step allocate(Warp& warp, const Inst& inst, u32 mask) {
  const bool is_resumed = warp.take_resumed();
  Step step = converge_whole(warp, inst, mask);
  if (step != Step::Next) return step;
  if (same_value(warp, inst, inst.b, "columns") == Step::Fault) return Step::Fault;
  const u32 columns = warp.lanes32(inst.b)[0];
  if (inst.kind == 2 && is_resumed) {
    // The other warp has allocated for both, unless memory was full and has become free.
    const TensorMemory& pair = memory_of_pair(warp);
    if (pair.allocates[warp.cta->rank & 1U].warp != &warp) return Step::Next;
  }
  if (check_allocation(warp, inst, columns) == Step::Fault) return Step::Fault;
  const u64 slot = lane_address(warp, inst, 0);
  if (inst.kind == 2) return allocate_pair(warp, inst, columns, slot);
  const auto first = warp.cta->tensor.fit(columns);
  if (!first) return wait_for_columns(warp, columns);
  return take(warp, inst, *first, columns, slot);
}

Step give(Warp& warp, const Inst& inst, u32 address, u32 columns) {
  const TensorAddress at = TensorAddress::of(address);
  RaceDetector* races = warp.cta->cluster->races.get();
  if (at.lane != 0 || !warp.cta->tensor.is_allocated(at.column, columns)) {
    return refuse(warp, inst,
                  "nothing of " + std::to_string(columns) + " columns is allocated at " +
                      tensor_text(at.lane, at.column));
  }
  if (races != nullptr && !races->free_tensor(warp, inst, at.column, columns)) return Step::Fault;
  if (!warp.cta->tensor.free(at.column, columns)) {
    return refuse(warp, inst,
                  "no allocation of " + std::to_string(columns) + " columns begins at column " +
                      std::to_string(at.column));
  }
  if (Observer* observer = warp.cta->cluster->observer.get()) observer->freed(warp, at.column);
  ++warp.cta->cluster->progress;
  return Step::Next;
}

Step free_pair(Warp& warp, const Inst& inst, u32 columns, u32 address) {
  TensorMemory& pair = memory_of_pair(warp);
  if (peer_of(warp, inst) == nullptr) return Step::Fault;
  const PairCall mine{&warp, &inst, columns, address};
  if (is_taken(pair.frees, warp)) return refuse(warp, inst, kTwoWarps);
  const PairCall* other = meet(pair.frees, mine);
  if (other == nullptr) return wait_for_peer(warp, true, pair.freed_pairs);
  if (check_pair(warp, inst, mine, *other) == Step::Fault) return Step::Fault;
  if (give(*other->warp, *other->inst, static_cast<u32>(other->address), columns) == Step::Fault ||
      give(warp, inst, address, columns) == Step::Fault) {
    return Step::Fault;
  }
  pair.frees = {};
  ++pair.freed_pairs;
  return Step::Next;
}

/// a: address; b: columns; kind: CTAs.
Step deallocate(Warp& warp, const Inst& inst, u32 mask) {
  const bool is_resumed = warp.take_resumed();
  Step step = converge_whole(warp, inst, mask);
  if (step != Step::Next || is_resumed) return step;
  if (same_value(warp, inst, inst.a, "address") == Step::Fault ||
      same_value(warp, inst, inst.b, "columns") == Step::Fault) {
    return Step::Fault;
  }
  const u32 address = warp.lanes32(inst.a)[0];
  const u32 columns = warp.lanes32(inst.b)[0];
  if (check_size(warp, inst, columns) == Step::Fault) return Step::Fault;
  return inst.kind == 2 ? free_pair(warp, inst, columns, address)
                        : give(warp, inst, address, columns);
}

Step relinquish(Warp& warp, const Inst& inst, u32 mask) {
  const Step step = converge_whole(warp, inst, mask);
  if (step == Step::Next) warp.cta->tensor.relinquished = &inst;
  return step;
}

}  // namespace

Handler select_tcgen05_alloc(Lowering& low) {
  const auto group = take_cta_group(low);
  const Space space = take_space(low);
  low.ignore({"alloc", "dealloc", "sync", "aligned", "b32"});
  if (!group) return nullptr;
  low.out.kind = static_cast<u8>(*group);
  set_address(low, low.address(low.operand(0)), space);
  low.out.b = low.source(1, Ty::U32);
  return &allocate;
}

Handler select_tcgen05_dealloc(Lowering& low) {
  const auto group = take_cta_group(low);
  low.ignore({"alloc", "dealloc", "sync", "aligned", "b32"});
  if (!group) return nullptr;
  low.out.kind = static_cast<u8>(*group);
  low.out.a = low.source(0, Ty::U32);
  low.out.b = low.source(1, Ty::U32);
  return &deallocate;
}

Handler select_tcgen05_relinquish(Lowering& low) {
  const auto group = take_cta_group(low);
  low.ignore({"relinquish_alloc_permit", "sync", "aligned"});
  return group ? &relinquish : nullptr;
}

}  // namespace pyptx::emu
