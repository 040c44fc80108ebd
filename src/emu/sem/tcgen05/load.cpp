// SPDX-License-Identifier: Apache-2.0
//
// tcgen05.ld, st, wait and fence (PTX ISA, "Tensor Memory and Register Load/Store Instructions").
// A load or store takes effect when it is issued: what another instruction may not rely on before a
// wait or a fence is the race detector's to say.
#include <cmath>

#include "decode/select.h"
#include "machine/cluster.h"
#include "observe/observer.h"
#include "pyptx/layout/fragment.h"
#include "race/detector.h"
#include "sem/lanes.h"
#include "sem/matrix/mma.h"
#include "sem/tcgen05/tcgen05.h"

namespace pyptx::emu {
namespace {

using layout::FragmentPlace;
using layout::TmemShape;

/// How .red combines the columns of a lane.
struct Reduction {
  bool is_max = false;
  bool takes_absolute = false;
  bool keeps_nan = false;
  TypeKind type{};  // Float, Unsigned, Signed; None: nothing is reduced
};

/// kind: shape; element_bytes: repeats; flag: pack or unpack; imm: offset of the address; target:
/// columns to the second half; a: address; list: registers, then the result of .red.
struct Access {
  Access(Warp& warp, const Inst& inst)
      : shape(static_cast<TmemShape>(inst.kind)),
        fragment(layout::tmem_fragment(shape, inst.element_bytes)),
        words(inst.flag ? 2 : 1),
        second(static_cast<i32>(inst.target)),
        at(TensorAddress::of(warp.lanes32(inst.a)[0] + static_cast<u32>(inst.imm))),
        list(warp.program->lists.data() + inst.list) {}

  TmemShape shape;
  layout::Fragment fragment;
  u32 words;   // of tensor memory for each register
  i32 second;  // columns from the first half of 16x32bx2 to the second
  TensorAddress at;
  const u32* list;

  bool has_halves() const { return shape == TmemShape::S16x32bx2; }
  u32 lanes() const { return shape == TmemShape::S32x32b ? 32 : 16; }
  /// Columns from the address on.
  u32 columns() const {
    u32 last = 0;
    for (u32 reg = 0; reg < fragment.registers; ++reg) {
      for (u32 lane = 0; lane < kLanes; ++lane)
        last = std::max(last, fragment.at(lane, reg).column);
    }
    return (last + 1) * words;
  }
  u32 column(const FragmentPlace& place) const {
    return at.column + place.column * words + (place.matrix == 1 ? static_cast<u32>(second) : 0U);
  }
  u32 lane(const FragmentPlace& place) const { return at.lane + place.row; }
  TensorRegion region(Cta& cta, u32 half) const {
    const u32 halves = (lanes() == 32 ? 3U : 1U) << (at.lane / 16);
    return {&cta, halves, at.column + (half == 1 ? static_cast<u32>(second) : 0U), columns()};
  }
};

/// All lanes, the same address, the warp's own lanes, and columns that are allocated.
Step prepare(Warp& warp, const Inst& inst, u32 mask, bool is_write) {
  const Step step = converge_whole(warp, inst, mask);
  if (step != Step::Next) return step;
  if (same_value(warp, inst, inst.a, "address") == Step::Fault) return Step::Fault;
  const Access access(warp, inst);
  constexpr diag::Kind kKind = diag::Kind::EmuTensorAccess;
  const u32 own = warp.id % 4 * 32;
  if (access.at.lane < own || access.at.lane + access.lanes() > own + 32) {
    return refuse_place(warp, inst, kKind, access.at,
                        "warp " + std::to_string(warp.id) + " reaches lanes " +
                            std::to_string(own) + " to " + std::to_string(own + 31) + " only");
  }
  if (access.at.lane % access.lanes() != 0) {
    return refuse_place(warp, inst, kKind, access.at,
                        "the first lane is a multiple of " + std::to_string(access.lanes()));
  }
  RaceDetector* races = warp.cta->cluster->races.get();
  for (u32 half = 0; half < (access.has_halves() ? 2U : 1U); ++half) {
    const TensorRegion region = access.region(*warp.cta, half);
    if (!warp.cta->tensor.is_allocated(region.first, region.columns)) {
      return refuse_place(
          warp, inst, kKind, {access.at.lane, region.first},
          "not all of its " + std::to_string(region.columns) + " columns are allocated");
    }
    if (races != nullptr && !races->tensor(warp, inst, region, is_write)) return Step::Fault;
    if (Observer* observer = warp.cta->cluster->observer.get()) {
      observer->touched(warp, inst, region, is_write);
    }
  }
  return Step::Next;
}

/// One word, or the low halves of two neighbours; false when it has no value.
bool read(TensorMemory& memory, u32 lane, u32 column, u32 words, u32& value) {
  value = 0;
  bool is_written = true;
  for (u32 i = 0; i < words; ++i) {
    is_written = is_written && memory.is_defined(lane, column + i);
    const u32 word = memory.row(lane)[column + i];
    value |= words == 1 ? word : (word & 0xFFFFU) << (16 * i);
  }
  return is_written;
}

void write(TensorMemory& memory, u32 lane, u32 column, u32 words, u32 value) {
  for (u32 i = 0; i < words; ++i) {
    memory.row(lane)[column + i] = words == 1 ? value : (value >> (16 * i)) & 0xFFFFU;
  }
  memory.mark(lane, column, words);
}

Step load(Warp& warp, const Inst& inst, u32 mask) {
  const Step step = prepare(warp, inst, mask, false);
  if (step != Step::Next) return step;
  const Access access(warp, inst);
  for (u32 reg = 0; reg < access.fragment.registers; ++reg) {
    u32* to = warp.lanes32(access.list[reg]);
    for (u32 lane = 0; lane < kLanes; ++lane) {
      const FragmentPlace place = access.fragment.at(lane, reg);
      const TensorAddress at{access.lane(place), access.column(place)};
      if (read(warp.cta->tensor, at.lane, at.column, access.words, to[lane])) continue;
      if (!carries_undefined(warp)) return warp.restart();
      warp.shadow->lanes32(access.list[reg])[lane] = ~0U;
      warp.shadow->birth({access.list[reg], 32, 4}) = {
          static_cast<u32>(&inst - warp.program->code.data()), ~0U, Space::Tensor,
          u64{at.lane} << 16 | at.column};
    }
  }
  return Step::Next;
}

Step store(Warp& warp, const Inst& inst, u32 mask) {
  const Step step = prepare(warp, inst, mask, true);
  if (step != Step::Next) return step;
  const Access access(warp, inst);
  for (u32 reg = 0; reg < access.fragment.registers; ++reg) {
    const u32* from = warp.lanes32(access.list[reg]);
    for (u32 lane = 0; lane < kLanes; ++lane) {
      const FragmentPlace place = access.fragment.at(lane, reg);
      write(warp.cta->tensor, access.lane(place), access.column(place), access.words, from[lane]);
      if (warp.shadow && warp.shadow->lanes32(access.list[reg])[lane] != 0) {
        warp.cta->tensor.undefine(access.lane(place), access.column(place), access.words);
      }
    }
  }
  return Step::Next;
}

float combine(float x, float y, const Reduction& by) {
  if (std::isnan(x) || std::isnan(y)) {
    if (by.keeps_nan) return std::bit_cast<float>(0x7FFFFFFFU);
    return std::isnan(x) ? (std::isnan(y) ? std::bit_cast<float>(0x7FFFFFFFU) : y) : x;
  }
  if (x == y) return std::signbit(x) != by.is_max ? x : y;  // -0 is below +0
  return (x < y) != by.is_max ? x : y;
}

u32 combine(u32 x, u32 y, const Reduction& by) {
  switch (by.type) {
    case TypeKind::Float:
      return std::bit_cast<u32>(combine(std::bit_cast<float>(x), std::bit_cast<float>(y), by));
    case TypeKind::Signed:
      return (static_cast<i32>(x) < static_cast<i32>(y)) != by.is_max ? x : y;
    default:
      return (x < y) != by.is_max ? x : y;
  }
}

Reduction reduction_of(const Inst& inst) {
  return {inst.kind2 == 1, inst.sat, inst.ftz, static_cast<TypeKind>(inst.register_bytes)};
}

/// The load, and the least or greatest of each lane's columns; 32x32b only.
Step load_reduced(Warp& warp, const Inst& inst, u32 mask) {
  const Step step = load(warp, inst, mask);
  if (step != Step::Next) return step;
  const Access access(warp, inst);
  const Reduction by = reduction_of(inst);
  u32* result = warp.lanes32(access.list[access.fragment.registers]);
  const u32 keep = by.takes_absolute ? 0x7FFFFFFFU : ~0U;
  for (u32 lane = 0; lane < kLanes; ++lane) {
    u32 value = warp.lanes32(access.list[0])[lane] & keep;
    for (u32 reg = 1; reg < access.fragment.registers; ++reg) {
      value = combine(value, warp.lanes32(access.list[reg])[lane] & keep, by);
    }
    result[lane] = value;
    if (!warp.shadow) continue;
    for (u32 reg = 0; reg < access.fragment.registers; ++reg) {
      if (warp.shadow->lanes32(access.list[reg])[lane] == 0) continue;
      const u32 offset = access.list[access.fragment.registers];
      warp.shadow->lanes32(offset)[lane] = ~0U;
      warp.shadow->birth({offset, 32, 4}) = warp.shadow->birth({access.list[reg], 32, 4});
    }
  }
  return Step::Next;
}

/// flag: of loads.
Step wait(Warp& warp, const Inst& inst, u32 mask) {
  const Step step = converge_whole(warp, inst, mask);
  RaceDetector* races = warp.cta->cluster->races.get();
  if (step == Step::Next && races != nullptr) races->wait_tensor(warp, inst.flag);
  return step;
}

/// flag: after_thread_sync.
Step fence(Warp& warp, const Inst& inst, u32 mask) {
  if (RaceDetector* races = warp.cta->cluster->races.get()) {
    races->fence_tensor(warp, mask, inst.flag);
  }
  return Step::Next;
}

/// Shape, repeats, packing and the address at operand `address`; false: refused.
bool take_access(Lowering& low, std::size_t address) {
  Inst& out = low.out;
  low.ignore({"ld", "st", "red", "sync", "aligned", "b32"});
  constexpr std::string_view kShapes[] = {"32x32b", "16x64b", "16x128b", "16x256b", "16x32bx2"};
  for (u32 i = 0; i < std::size(kShapes); ++i) {
    if (low.take(kShapes[i])) out.kind = static_cast<u8>(i);
  }
  for (u32 repeats = 1; repeats <= 128; repeats *= 2) {
    if (low.take("x" + std::to_string(repeats))) out.element_bytes = static_cast<u8>(repeats);
  }
  out.flag = low.take("pack::16b") || low.take("unpack::16b");
  const AddressOperand at = low.address(low.operand(address));
  if (at.base_bytes != 4) {
    low.refuse("its address has 32 bits");
    return false;
  }
  out.a = at.base;
  out.imm = at.offset;
  return true;
}

bool take_half_offset(Lowering& low, std::size_t operand) {
  if (static_cast<TmemShape>(low.out.kind) != TmemShape::S16x32bx2) return true;
  const auto offset = low.literal(low.operand(operand));
  if (!offset) {
    low.refuse("the offset of its second half is not a literal");
    return false;
  }
  low.out.target = static_cast<u32>(*offset);
  return true;
}

/// Whether the vector has as many registers as its shape moves.
bool has_registers(Lowering& low, std::size_t count) {
  const auto shape = static_cast<TmemShape>(low.out.kind);
  if (count == layout::tmem_fragment(shape, low.out.element_bytes).registers) return true;
  low.refuse("its vector has another number of registers");
  return false;
}

}  // namespace

Handler select_tcgen05_ld(Lowering& low) {
  Inst& out = low.out;
  const bool is_reduced = low.is_word("red");
  const std::size_t address = is_reduced ? 2 : 1;
  if (!take_access(low, address) || !take_half_offset(low, address + 1)) return nullptr;
  std::vector<u32> list;
  for (const ir::Operand& one : low.children(low.operand(0)))
    list.push_back(low.dest(one, Ty::B32));
  if (is_reduced) {
    if (static_cast<TmemShape>(out.kind) != TmemShape::S32x32b) {
      return low.refuse("the manual does not say whether .16x32bx2 reduces its halves together");
    }
    out.kind2 = low.take("max") ? 1 : 0;
    low.ignore({"min"});
    out.sat = low.take("abs");
    out.ftz = low.take("NaN");
    out.register_bytes = static_cast<u8>(info(low.take_type()).kind);
    if (low.operand(1).kind == ir::OperandKind::Vector) return low.refuse("its result is a vector");
    list.push_back(low.dest(1, Ty::B32));
  }
  low.set_list(list);
  if (!has_registers(low, list.size() - (is_reduced ? 1 : 0))) return nullptr;
  return is_reduced ? &load_reduced : &load;
}

Handler select_tcgen05_st(Lowering& low) {
  if (!take_access(low, 0)) return nullptr;
  const bool has_halves = static_cast<TmemShape>(low.out.kind) == TmemShape::S16x32bx2;
  if (!take_half_offset(low, 1)) return nullptr;
  std::vector<u32> list;
  for (const ir::Operand& one : low.children(low.operand(has_halves ? 2 : 1))) {
    list.push_back(low.source(one, Ty::B32));
  }
  low.set_list(list);
  return has_registers(low, list.size()) ? &store : nullptr;
}

Handler select_tcgen05_wait(Lowering& low) {
  low.ignore({"sync", "aligned"});
  low.out.flag = low.is_word("wait::ld");
  low.is_word("wait::st");
  return &wait;
}

Handler select_tcgen05_fence(Lowering& low) {
  low.out.flag = low.is_word("fence::after_thread_sync");
  low.is_word("fence::before_thread_sync");
  return &fence;
}

}  // namespace pyptx::emu
