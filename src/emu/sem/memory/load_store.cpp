// SPDX-License-Identifier: Apache-2.0
//
// ld and st (PTX ISA, "Data Movement and Conversion Instructions: ld, st"): every space, vectors,
// registers wider than the type. Cache operators and eviction hints change nothing here; the order
// of strong accesses is the order of execution.
#include <algorithm>
#include <cstring>

#include "decode/select.h"
#include "machine/cluster.h"
#include "memory/relaxed.h"
#include "race/detector.h"
#include "sem/lanes.h"
#include "sem/memory/access.h"

namespace pyptx::emu {
namespace {

/// The whole warp is the common case, and a loop of known length.
template <typename F>
inline void each_lane(u32 mask, F&& body) {
  if (mask == kAllLanes) {
    for (u32 i = 0; i < kLanes; ++i) body(i);
  } else {
    each_active(mask, body);
  }
}

/// What lane i of a store writes, where it writes whole words; null elsewhere.
const std::byte* value_of(Warp& warp, const Inst& inst, u32 i, std::byte (&room)[64]) {
  const u32 bytes = inst.element_bytes;
  if (bytes < 4 || bytes > 8 || !warp.cta->cluster->races) return nullptr;
  const u32* list = inst.list_count == 0 ? &inst.b : warp.program->lists.data() + inst.list;
  const u32 count = std::max<u32>(1, inst.list_count);
  for (u32 k = 0; k < count; ++k) {
    const std::byte* lanes = warp.registers + list[k];
    std::memcpy(room + u64{k} * bytes, lanes + u64{i} * inst.register_bytes, bytes);
  }
  return room;
}

/// Host addresses of the active lanes; false with the fault recorded.
bool locate(Warp& warp, const Inst& inst, u32 mask, bool is_write, std::byte* (&at)[kLanes]) {
  const u32 bytes = inst.element_bytes * (inst.list_count == 0 ? 1U : inst.list_count);
  bool ok = true;
  std::byte room[64];
  each_active(mask, [&](u32 i) {
    if (!ok) return;
    AccessRequest request;
    request.space = inst.space;
    request.address = lane_address(warp, inst, i);
    if (inst.space == Space::Shared || inst.space == Space::SharedCluster) {
      // A 64-bit register may hold a shared address; a generic one is refused by its high half.
      if (inst.kind2 == 4) request.address &= 0xFFFFFFFFU;
    }
    request.bytes = bytes;
    request.align = bytes;
    request.lane = i;
    request.is_write = is_write;
    request.what = is_write ? "store" : "load";
    request.may_carry = !is_write;
    if (inst.flag) set_order(inst.e, request);
    if (is_write) request.value = value_of(warp, inst, i, room);
    at[i] = resolve(warp, inst, request);
    ok = at[i] != nullptr;
  });
  return ok;
}

template <typename T, typename R>
R extended(const std::byte* from) {
  return static_cast<R>(load_relaxed<T>(from));
}

/// A strong load of global memory may be a poll for what another CTA has yet to do: the others go
/// on first.
Step after_load(const Inst& inst) {
  const bool may_poll = inst.flag && (inst.space == Space::Global || inst.space == Space::Generic);
  return may_poll ? Step::Yield : Step::Next;
}

/// T: the memory type, R: the lane. A signed T is sign-extended to the lane.
template <typename T, typename R>
Step load_one(Warp& warp, const Inst& inst, u32 mask) {
  std::byte* at[kLanes];
  if (!locate(warp, inst, mask, false, at)) return Step::Fault;
  R* d = reinterpret_cast<R*>(warp.registers + inst.d);
  each_lane(mask, [&](u32 i) { d[i] = extended<T, R>(at[i]); });
  return after_load(inst);
}

template <typename T, typename R>
Step store_one(Warp& warp, const Inst& inst, u32 mask) {
  std::byte* at[kLanes];
  if (!locate(warp, inst, mask, true, at)) return Step::Fault;
  const R* b = reinterpret_cast<const R*>(warp.registers + inst.b);
  each_lane(mask, [&](u32 i) { store_relaxed<T>(at[i], static_cast<T>(b[i])); });
  return Step::Next;
}

template <typename T, typename R>
Step load_vector(Warp& warp, const Inst& inst, u32 mask) {
  std::byte* at[kLanes];
  if (!locate(warp, inst, mask, false, at)) return Step::Fault;
  const u32* list = warp.program->lists.data() + inst.list;
  for (u32 k = 0; k < inst.list_count; ++k) {
    R* d = reinterpret_cast<R*>(warp.registers + list[k]);
    each_lane(mask, [&](u32 i) { d[i] = extended<T, R>(at[i] + k * sizeof(T)); });
  }
  return after_load(inst);
}

template <typename T, typename R>
Step store_vector(Warp& warp, const Inst& inst, u32 mask) {
  std::byte* at[kLanes];
  if (!locate(warp, inst, mask, true, at)) return Step::Fault;
  const u32* list = warp.program->lists.data() + inst.list;
  for (u32 k = 0; k < inst.list_count; ++k) {
    const R* b = reinterpret_cast<const R*>(warp.registers + list[k]);
    each_lane(mask, [&](u32 i) { store_relaxed<T>(at[i] + k * sizeof(T), static_cast<T>(b[i])); });
  }
  return Step::Next;
}

/// b128: two planes of 64-bit lanes.
Step load128(Warp& warp, const Inst& inst, u32 mask) {
  std::byte* at[kLanes];
  if (!locate(warp, inst, mask, false, at)) return Step::Fault;
  each_active(mask, [&](u32 i) {
    warp.lanes64(inst.d)[i] = load_relaxed<u64>(at[i]);
    warp.lanes64(inst.d)[i + kLanes] = load_relaxed<u64>(at[i] + 8);
  });
  return after_load(inst);
}

Step store128(Warp& warp, const Inst& inst, u32 mask) {
  std::byte* at[kLanes];
  if (!locate(warp, inst, mask, true, at)) return Step::Fault;
  each_active(mask, [&](u32 i) {
    store_relaxed(at[i], warp.lanes64(inst.b)[i]);
    store_relaxed(at[i] + 8, warp.lanes64(inst.b)[i + kLanes]);
  });
  return Step::Next;
}

template <typename T, typename R>
Handler of(bool is_load, bool is_vector) {
  if (is_load) return is_vector ? &load_vector<T, R> : &load_one<T, R>;
  return is_vector ? &store_vector<T, R> : &store_one<T, R>;
}

template <typename T>
Handler by_lane(u32 lane_size, bool is_load, bool is_vector) {
  if (lane_size == 8) return of<T, u64>(is_load, is_vector);
  if constexpr (sizeof(T) <= 4) {
    if (lane_size == 4) return of<T, u32>(is_load, is_vector);
  }
  return nullptr;
}

Handler by_memory_type(Ty type, u32 lane_size, bool is_load, bool is_vector) {
  const bool sign = is_signed(type);
  switch (bytes_of(type)) {
    case 1:
      return sign ? by_lane<i8>(lane_size, is_load, is_vector)
                  : by_lane<u8>(lane_size, is_load, is_vector);
    case 2:
      return sign ? by_lane<i16>(lane_size, is_load, is_vector)
                  : by_lane<u16>(lane_size, is_load, is_vector);
    case 4:
      return sign ? by_lane<i32>(lane_size, is_load, is_vector)
                  : by_lane<u32>(lane_size, is_load, is_vector);
    case 8:
      return by_lane<u64>(lane_size, is_load, is_vector);
    case 16:
      if (is_vector || lane_size != 16) return nullptr;
      return is_load ? &load128 : &store128;
    default:
      return nullptr;
  }
}

void ignore_hints(Lowering& low) {
  low.ignore(
      {"ca", "cg", "cs", "lu", "cv", "wb", "wt", "nc", "weak", "unified", "proxy::readonly"});
  low.ignore({"cta", "cluster", "gpu", "sys", "mmio"});
  low.ignore_prefix("L1::");
  low.ignore_prefix("L2::");
}

Handler access(Lowering& low, bool is_load) {
  Inst& out = low.out;
  const Ty type = low.take_type();
  const Space space = take_space(low);
  const std::string_view semantics = low.take_any({"volatile", "relaxed", "acquire", "release"});
  const bool is_strong = !semantics.empty() || low.has("mmio");
  out.flag = is_strong;
  out.e = order_of(low, semantics);
  if (is_strong && (space == Space::Global || space == Space::Generic) && !low.has("cta") &&
      !low.has("cluster")) {
    low.program().is_ordered = true;
  }
  const std::string_view vector = low.take_any({"v2", "v4", "v8"});
  ignore_hints(low);
  set_address(low, low.address(low.operand(is_load ? 1 : 0)), space);
  const ir::Operand& value = low.operand(is_load ? 0 : 1);
  out.element_bytes = static_cast<u8>(bytes_of(type));
  const u8 own_size = static_cast<u8>(lane_bytes(info(type).bits));
  u8 lane_size = 0;
  const auto place = [&](const ir::Operand& one) {
    if (!is_load && one.kind == ir::OperandKind::Sink) low.refuse("it leaves out an element");
    u8 bytes = own_size;
    const u32 offset = one.kind == ir::OperandKind::Register ? low.source_any(one, type, bytes)
                       : is_load                             ? low.dest(one, type)
                                                             : low.source(one, type);
    if (lane_size != 0 && lane_size != bytes) low.refuse("its registers differ in width");
    lane_size = bytes;
    return offset;
  };
  if (!vector.empty()) {
    std::vector<u32> list;
    for (const ir::Operand& one : low.children(value)) list.push_back(place(one));
    if (list.size() != static_cast<std::size_t>(vector[1] - '0')) {
      return low.refuse("its vector has another number of elements");
    }
    low.set_list(list);
  } else {
    (is_load ? out.d : out.b) = place(low.bare(value));
  }
  low.access.kind = is_load ? MemoryAccess::Kind::Load : MemoryAccess::Kind::Store;
  low.access.bytes = static_cast<u16>(out.element_bytes * std::max<u32>(1, out.list_count));
  out.kind = static_cast<u8>(type);
  out.register_bytes = lane_size;
  out.flag2 = is_load;
  const Handler any = by_memory_type(type, lane_size, is_load, !vector.empty());
  const bool is_usual = !is_strong && lane_size == lane_bytes(info(type).bits) &&
                        out.kind2 == (space == Space::Shared ? 4 : 8);
  if (any == nullptr || !is_usual) return any;
  const Handler fast =
      access_handler(space, type, out.list_count == 0 ? 1 : out.list_count, is_load);
  return fast != nullptr ? fast : any;
}

}  // namespace

Step access_lane_by_lane(Warp& warp, const Inst& inst, u32 mask) {
  const Handler any = by_memory_type(static_cast<Ty>(inst.kind), inst.register_bytes, inst.flag2,
                                     inst.list_count != 0);
  return any(warp, inst, mask);
}

Handler select_ld(Lowering& low) { return access(low, true); }
Handler select_st(Lowering& low) { return access(low, false); }

}  // namespace pyptx::emu
