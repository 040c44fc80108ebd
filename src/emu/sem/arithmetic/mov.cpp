// SPDX-License-Identifier: Apache-2.0
//
// mov (PTX ISA, "Data Movement and Conversion Instructions: mov"): registers, literals, special
// registers, addresses of variables, packing and unpacking of vectors.
#include <cstring>

#include "decode/select.h"
#include "machine/cluster.h"
#include "sem/lanes.h"

namespace pyptx::emu {
namespace {

template <typename T>
Step copy(Warp& warp, const Inst& inst, u32 mask) {
  T* d = reinterpret_cast<T*>(warp.registers + inst.d);
  const T* a = reinterpret_cast<const T*>(warp.registers + inst.a);
  if (mask == kAllLanes) {
    std::memmove(d, a, sizeof(T) * kLanes);
  } else {
    PYPTX_EACH_LANE d[i] = ((mask >> i) & 1U) != 0 ? a[i] : d[i];
  }
  return Step::Next;
}

/// b128 registers are two planes of 64-bit lanes.
Step copy128(Warp& warp, const Inst& inst, u32 mask) {
  each_active(mask, [&](u32 i) {
    for (u32 half = 0; half < 2; ++half) {
      warp.lanes64(inst.d)[i + half * kLanes] = warp.lanes64(inst.a)[i + half * kLanes];
    }
  });
  return Step::Next;
}

Step copy_predicate(Warp& warp, const Inst& inst, u32 mask) {
  u32& d = warp.predicate(inst.d);
  d = (d & ~mask) | ((warp.predicate(inst.a) ^ inst.flip) & mask);
  return Step::Next;
}

/// kind: 1 for the upper half.
Step read_clock(Warp& warp, const Inst& inst, u32 mask) {
  // A run must be repeatable: time is the number of instructions, a nanosecond each.
  const u64 now = warp.cta->cluster->clock + warp.counts[warp.pc];
  const u64 value = inst.kind != 0 ? now >> 32 : now;
  each_active(mask, [&](u32 i) {
    if (inst.register_bytes == 8) {
      warp.lanes64(inst.d)[i] = value;
    } else {
      warp.lanes32(inst.d)[i] = static_cast<u32>(value);
    }
  });
  return Step::Next;
}

/// Value of one lane of a packed register, as bytes.
void read_bytes(Warp& warp, u32 offset, u32 lane_size, u32 lane, std::byte* to) {
  if (lane_size == 4) {
    std::memcpy(to, &warp.lanes32(offset)[lane], 4);
  } else {
    std::memcpy(to, &warp.lanes64(offset)[lane], 8);
    if (lane_size == 16) std::memcpy(to + 8, &warp.lanes64(offset)[lane + kLanes], 8);
  }
}
void write_bytes(Warp& warp, u32 offset, u32 lane_size, u32 lane, const std::byte* from) {
  if (lane_size == 4) {
    std::memcpy(&warp.lanes32(offset)[lane], from, 4);
  } else {
    std::memcpy(&warp.lanes64(offset)[lane], from, 8);
    if (lane_size == 16) std::memcpy(&warp.lanes64(offset)[lane + kLanes], from + 8, 8);
  }
}

/// element_bytes: of one vector element; register_bytes: lane bytes of the packed side.
Step pack(Warp& warp, const Inst& inst, u32 mask) {
  const u32* list = warp.program->lists.data() + inst.list;
  const u32 part = inst.element_bytes;
  each_active(mask, [&](u32 i) {
    std::byte all[16] = {};
    for (u32 k = 0; k < inst.list_count; ++k) {
      std::byte one[16] = {};
      read_bytes(warp, list[k], lane_bytes(part * 8), i, one);
      std::memcpy(all + k * part, one, part);
    }
    write_bytes(warp, inst.d, inst.register_bytes, i, all);
  });
  return Step::Next;
}

Step unpack(Warp& warp, const Inst& inst, u32 mask) {
  const u32* list = warp.program->lists.data() + inst.list;
  const u32 part = inst.element_bytes;
  each_active(mask, [&](u32 i) {
    std::byte all[16] = {};
    read_bytes(warp, inst.a, inst.register_bytes, i, all);
    for (u32 k = 0; k < inst.list_count; ++k) {
      std::byte one[16] = {};
      std::memcpy(one, all + k * part, part);
      write_bytes(warp, list[k], lane_bytes(part * 8), i, one);
    }
  });
  return Step::Next;
}

Ty bits_type(u32 bytes) {
  switch (bytes) {
    case 1:
      return Ty::B8;
    case 2:
      return Ty::B16;
    case 4:
      return Ty::B32;
    default:
      return bytes == 8 ? Ty::B64 : Ty::B128;
  }
}

/// mov.v2, mov.v4: every element by itself. The list holds destinations, then sources; a source
/// that stands alone fills every element.
template <typename T>
Step copy_elements(Warp& warp, const Inst& inst, u32 mask) {
  const u32* list = warp.program->lists.data() + inst.list;
  const u32 count = inst.list_count / 2U;
  each_active(mask, [&](u32 i) {
    T values[4] = {};
    for (u32 k = 0; k < count; ++k) values[k] = lanes_of<T>(warp, list[count + k])[i];
    for (u32 k = 0; k < count; ++k) lanes_of<T>(warp, list[k])[i] = values[k];
  });
  return Step::Next;
}

Handler element_movs(Lowering& low, Ty type) {
  const auto to = low.children(low.operand(0));
  const bool is_vector = low.operand(1).kind == ir::OperandKind::Vector;
  const auto from = low.children(low.operand(1));
  if (to.empty() || to.size() > 4 || (is_vector && from.size() != to.size())) return nullptr;
  std::vector<u32> list;
  for (const ir::Operand& part : to) list.push_back(low.dest(part, type));
  for (std::size_t k = 0; k < to.size(); ++k) {
    list.push_back(low.source(is_vector ? from[k] : low.operand(1), type));
  }
  low.set_list(list);
  return lane_bytes(info(type).bits) == 8 ? &copy_elements<u64> : &copy_elements<u32>;
}

Handler vector_mov(Lowering& low, Ty type) {
  Inst& out = low.out;
  const std::string_view vector = low.take_any({"v2", "v4"});
  if (!vector.empty()) return element_movs(low, type);
  const bool is_pack = low.operand(1).kind == ir::OperandKind::Vector;
  const auto parts = low.children(low.operand(is_pack ? 1 : 0));
  if (parts.empty() || bytes_of(type) % parts.size() != 0) return nullptr;
  out.element_bytes = static_cast<u8>(bytes_of(type) / parts.size());
  out.register_bytes = static_cast<u8>(lane_bytes(info(type).bits));
  std::vector<u32> list;
  for (const ir::Operand& part : parts) {
    const Ty element = bits_type(out.element_bytes);
    list.push_back(is_pack ? low.source(part, element) : low.dest(part, element));
  }
  low.set_list(list);
  if (is_pack) {
    out.d = low.dest(0, type);
    return &pack;
  }
  out.a = low.source(1, type);
  return &unpack;
}

}  // namespace

Handler select_mov(Lowering& low) {
  Inst& out = low.out;
  const Ty type = low.take_type();
  if (type == Ty::None) return nullptr;
  const ir::Operand& from = low.operand(1);
  if (low.operand(0).kind == ir::OperandKind::Vector || from.kind == ir::OperandKind::Vector) {
    return vector_mov(low, type);
  }
  if (type == Ty::Pred) {
    bool negated = false;
    out.d = low.predicate_dest(low.operand(0));
    if (from.kind == ir::OperandKind::Special) {
      const auto special = static_cast<isa::SpecialRegister>(from.index);
      if (isa::info(special).type != Ty::Pred) return low.refuse("an operand is not a predicate");
      out.a = low.special_lanes(special, 0, 0);
    } else {
      out.a = low.predicate(from, negated);
    }
    out.flip = negated ? kAllLanes : 0;
    return &copy_predicate;
  }
  out.d = low.dest(0, type);
  out.register_bytes = static_cast<u8>(lane_bytes(info(type).bits));
  if (from.kind == ir::OperandKind::Special) {
    const auto special = static_cast<isa::SpecialRegister>(from.index);
    if (isa::info(special).emulated == isa::Emulated::Clock) {
      const bool is_high = special == isa::SpecialRegister::ClockHi ||
                           special == isa::SpecialRegister::GlobaltimerHi;
      out.kind = is_high ? 1 : 0;
      return &read_clock;
    }
  }
  u8 bytes = 0;
  out.a = low.source_any(from, type, bytes);
  if (bytes < out.register_bytes) return low.refuse("an operand is narrower than its type");
  switch (out.register_bytes) {
    case 4:
      return &copy<u32>;
    case 8:
      return &copy<u64>;
    default:
      return &copy128;
  }
}

}  // namespace pyptx::emu
