// SPDX-License-Identifier: Apache-2.0
//
// Loads, stores and wgmma of a warp that has a shadow. Memory knows bytes, registers know bits: a
// byte that has a bit without a value has none. Global memory keeps what is stored there, so a
// store to it is a use.
#include "shadow/memory_flow.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>

#include "async/wgmma_form.h"
#include "decode/types.h"
#include "machine/cluster.h"
#include "sem/lanes.h"

namespace pyptx::emu {
namespace {

u32 counter_of(const Warp& warp, const Inst& inst) {
  return static_cast<u32>(&inst - warp.program->code.data());
}

bool is_through(Step step) { return step == Step::Next || step == Step::Yield; }

const RegisterPlace& place_of(const Warp& warp, u32 id) { return warp.program->registers[id]; }

bool any_undefined(Warp& warp, const std::vector<u32>& ids, u32 mask) {
  return std::ranges::any_of(
      ids, [&](u32 id) { return (warp.shadow->undefined(place_of(warp, id)) & mask) != 0; });
}

Space space_of(const Inst& inst, u64 address) {
  return inst.space == Space::Generic ? classify(address) : inst.space;
}

u32 shared_offset(u64 address) { return static_cast<u32>(address) & kOffsetMask; }
Cta& shared_cta(Warp& warp, u64 address) {
  return *warp.cta->cluster->ctas[(address & 0xFFFFFFFFU) >> kRankShift];
}

/// Where the undefined byte at an address was born: at the store that put it there, or nowhere.
Birth memory_birth(Warp& warp, Space space, u64 address, u32 lane, u32 pc) {
  if (space == Space::Shared || space == Space::SharedCluster) {
    const auto& births = shared_cta(warp, address).births;
    const auto known = births.find(shared_offset(address) / 4);
    if (known != births.end()) return known->second;
  }
  if (space == Space::Local) {
    const Birth& known = warp.shadow->local_birth(lane, address & ~kWindowMask);
    if (known.pc != ~0U) return known;
  }
  return {pc, ~0U, space, address};
}

/// A byte for each bit.
std::array<std::byte, 32> spread(u32 undefined) {
  std::array<std::byte, 32> bytes{};
  for (u32 i = 0; i < 32; ++i)
    bytes[i] = ((undefined >> i) & 1U) != 0 ? std::byte{0xFF} : std::byte{};
  return bytes;
}

/// The bits of a lane of the shadow of the register at `offset`, `size` bytes of them.
void write_shadow(Shadow& shadow, u32 offset, u32 size, u32 lane, const std::byte* from) {
  if (size == 4) {
    std::memcpy(&shadow.lanes32(offset)[lane], from, 4);
    return;
  }
  std::memcpy(&shadow.lanes64(offset)[lane], from, 8);
  if (size == 16) std::memcpy(&shadow.lanes64(offset)[lane + kLanes], from + 8, 8);
}
void read_shadow(Shadow& shadow, u32 offset, u32 size, u32 lane, std::byte* to) {
  if (size == 4) {
    std::memcpy(to, &shadow.lanes32(offset)[lane], 4);
    return;
  }
  std::memcpy(to, &shadow.lanes64(offset)[lane], 8);
  if (size == 16) std::memcpy(to + 8, &shadow.lanes64(offset)[lane + kLanes], 8);
}

/// Offsets of the elements of an ld or st, in the order of memory.
std::vector<u32> elements_of(const Warp& warp, const Inst& inst, bool is_load) {
  if (inst.list_count == 0) return {is_load ? inst.d : inst.b};
  const auto first = warp.program->lists.begin() + inst.list;
  return {first, first + inst.list_count};
}

/// The bytes that a lane of a store puts into memory without a value.
u32 undefined_stored(Warp& warp, const Inst& inst, const std::vector<u32>& elements, u32 lane) {
  u32 undefined = 0;
  for (std::size_t k = 0; k < elements.size(); ++k) {
    std::byte bits[16] = {};
    read_shadow(*warp.shadow, elements[k], inst.register_bytes, lane, bits);
    for (u32 i = 0; i < inst.element_bytes; ++i) {
      if (bits[i] != std::byte{}) undefined |= 1U << (k * inst.element_bytes + i);
    }
  }
  return undefined;
}

/// Takes the value of a byte that was stored.
void undefine(Warp& warp, Space space, u64 address, u32 lane, const Birth& birth) {
  if (space == Space::Local) {
    Cta& cta = *warp.cta;
    const u64 offset = address & ~kWindowMask;
    *cta.local_flags(cta.local_of(warp.id, lane) + offset) = 0;
    warp.shadow->local_birth(lane, offset) = birth;
    return;
  }
  Cta& cta = shared_cta(warp, address);
  const u32 offset = shared_offset(address);
  cta.defined.remove(offset, offset + 1);
  cta.births[offset / 4] = birth;
}

/// The first register of `ids` that has no value in a lane of `mask`.
Birth source_birth(Warp& warp, const std::vector<u32>& ids, u32 mask, u32 pc) {
  for (const u32 id : ids) {
    if ((warp.shadow->undefined(place_of(warp, id)) & mask) != 0) return read_birth(warp, id, pc);
  }
  return {};
}

u64 row_address(Warp& warp, const Inst& inst, u32 lane) {
  return lane_address(warp, inst, lane) & 0xFFFFFFFFU;
}

}  // namespace

Step carry_load(Warp& warp, const Inst& inst, const Flow& flow, u32 mask) {
  std::array<u64, kLanes> addresses{};  // the base may be among the registers that are written
  each_active(mask, [&](u32 lane) { addresses[lane] = lane_address(warp, inst, lane); });
  const Step step = inst.run(warp, inst, mask);
  if (!is_through(step)) return step;
  for (const u32 id : flow.results) warp.shadow->define(place_of(warp, id), mask);
  const u32 pc = counter_of(warp, inst);
  const std::vector<u32> elements = elements_of(warp, inst, true);
  const u32 bytes = inst.element_bytes * static_cast<u32>(elements.size());
  const bool extends_sign = is_signed(static_cast<Ty>(inst.kind));
  each_active(mask, [&](u32 lane) {
    const u64 address = addresses[lane];
    const u32 undefined = undefined_bytes(warp, inst.space, address, bytes, lane);
    if (undefined == 0) return;
    const auto all = spread(undefined);
    for (std::size_t k = 0; k < elements.size(); ++k) {
      std::byte bits[16] = {};
      std::copy_n(all.data() + k * inst.element_bytes, inst.element_bytes, bits);
      if (extends_sign) {
        std::fill(bits + inst.element_bytes, std::end(bits), bits[inst.element_bytes - 1]);
      }
      write_shadow(*warp.shadow, elements[k], inst.register_bytes, lane, bits);
    }
    const u32 first = Warp::first_lane(undefined);
    const Birth birth = memory_birth(warp, space_of(inst, address), address + first, lane, pc);
    for (const u32 id : flow.results) warp.shadow->birth(place_of(warp, id)) = birth;
  });
  return step;
}

Step carry_store(Warp& warp, const Inst& inst, const Flow& flow, u32 mask) {
  if (!any_undefined(warp, flow.sources, mask)) return inst.run(warp, inst, mask);
  const u32 pc = counter_of(warp, inst);
  const std::vector<u32> elements = elements_of(warp, inst, false);
  std::array<u32, kLanes> undefined{};
  for (u32 rest = mask; rest != 0; rest &= rest - 1) {
    const u32 lane = Warp::first_lane(rest);
    undefined[lane] = undefined_stored(warp, inst, elements, lane);
    const u64 address = lane_address(warp, inst, lane);
    if (undefined[lane] == 0 || space_of(inst, address) != Space::Global) continue;
    return report_undefined(warp, inst, lane, "it stores a value that nobody wrote",
                            source_birth(warp, flow.sources, 1U << lane, pc));
  }
  const Step step = inst.run(warp, inst, mask);
  if (!is_through(step)) return step;
  each_active(mask, [&](u32 lane) {
    const u64 address = lane_address(warp, inst, lane);
    const Birth birth = source_birth(warp, flow.sources, 1U << lane, pc);
    for (u32 rest = undefined[lane]; rest != 0; rest &= rest - 1) {
      undefine(warp, space_of(inst, address), address + Warp::first_lane(rest), lane, birth);
    }
  });
  return step;
}

/// The rows are made of what is undefined for a moment, and the instruction says where it goes.
Step carry_load_matrix(Warp& warp, const Inst& inst, const Flow& flow, u32 mask) {
  const u32 pc = counter_of(warp, inst);
  const u32 rows = std::min<u32>(warp.program->accesses[pc].rows, kLanes);
  std::array<u64, kLanes> addresses{};
  for (u32 row = 0; row < rows; ++row) addresses[row] = row_address(warp, inst, row);
  // The base may be among the registers that are written: it is put back for the second run.
  std::array<std::byte, 8 * kLanes> base;
  std::copy_n(warp.registers + inst.a, inst.kind2 * kLanes, base.data());
  const Step step = inst.run(warp, inst, mask);
  if (!is_through(step)) return step;
  for (const u32 id : flow.results) warp.shadow->define(place_of(warp, id), mask);
  std::array<u32, kLanes> undefined{};
  u32 any = 0;
  for (u32 row = 0; row < rows; ++row) {
    undefined[row] = undefined_bytes(warp, Space::SharedCluster, addresses[row], 16, row);
    if (undefined[row] != 0) any |= 1U << row;
  }
  if (any == 0) return step;
  std::array<std::array<std::byte, 16>, kLanes> kept;
  const auto row_at = [&](u32 row) {
    return shared_cta(warp, addresses[row]).shared.data() + shared_offset(addresses[row]);
  };
  for (u32 row = 0; row < rows; ++row) std::copy_n(row_at(row), 16, kept[row].data());
  for (u32 row = 0; row < rows; ++row) std::copy_n(spread(undefined[row]).data(), 16, row_at(row));
  std::vector<std::array<u32, kLanes>> values;
  for (const u32 id : flow.results) {
    std::copy_n(warp.lanes32(place_of(warp, id).offset), kLanes, values.emplace_back().data());
  }
  std::copy_n(base.data(), inst.kind2 * kLanes, warp.registers + inst.a);
  warp.program->handlers[pc](warp, inst, mask);
  for (u32 row = 0; row < rows; ++row) std::copy_n(kept[row].data(), 16, row_at(row));
  const u32 first = Warp::first_lane(any);
  const Birth birth = memory_birth(
      warp, Space::Shared, addresses[first] + Warp::first_lane(undefined[first]), first, pc);
  for (std::size_t i = 0; i < flow.results.size(); ++i) {
    const RegisterPlace& place = place_of(warp, flow.results[i]);
    each_active(mask, [&](u32 lane) {
      warp.shadow->lanes32(place.offset)[lane] = warp.lanes32(place.offset)[lane];
    });
    std::copy_n(values[i].data(), kLanes, warp.lanes32(place.offset));
    warp.shadow->birth(place) = birth;
  }
  return step;
}

/// What is undefined is stored for a moment, to see where it goes.
Step carry_store_matrix(Warp& warp, const Inst& inst, const Flow& flow, u32 mask) {
  const Step step = inst.run(warp, inst, mask);
  if (!is_through(step) || !any_undefined(warp, flow.sources, mask)) return step;
  const u32 pc = counter_of(warp, inst);
  std::vector<std::array<u32, kLanes>> values;
  for (const u32 id : flow.sources) {
    u32* lanes = warp.lanes32(place_of(warp, id).offset);
    std::copy_n(lanes, kLanes, values.emplace_back().data());
    std::copy_n(warp.shadow->lanes32(place_of(warp, id).offset), kLanes, lanes);
  }
  warp.program->handlers[pc](warp, inst, mask);
  std::vector<u64> undefined;  // bytes
  const u32 rows = std::min<u32>(warp.program->accesses[pc].rows, kLanes);
  for (u32 row = 0; row < rows; ++row) {
    const u64 address = row_address(warp, inst, row);
    const std::byte* at = shared_cta(warp, address).shared.data() + shared_offset(address);
    for (u32 i = 0; i < 16; ++i) {
      if (at[i] != std::byte{}) undefined.push_back(address + i);
    }
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::copy_n(values[i].data(), kLanes, warp.lanes32(place_of(warp, flow.sources[i]).offset));
  }
  warp.program->handlers[pc](warp, inst, mask);
  const Birth birth = source_birth(warp, flow.sources, mask, pc);
  for (const u64 address : undefined) undefine(warp, Space::Shared, address, 0, birth);
  return step;
}

/// An element of D depends on its row of A and on itself. What the tiles of shared memory lack is
/// added when the product is made: see carry_gaps.
Step carry_product(Warp& warp, const Inst& inst, const Flow& flow, u32 mask) {
  const WgmmaForm form = WgmmaForm::unpack(inst.imm);
  const bool adds = ((warp.predicate(inst.c) ^ inst.flip) & mask) != 0;
  const u32 pc = counter_of(warp, inst);
  Shadow& shadow = *warp.shadow;
  const u32* list = warp.program->lists.data() + inst.list;
  // Lanes of a quad that share a row of A without a value, for both halves of the rows.
  std::array<u32, 2> rows{};
  std::vector<u32> sources = flow.sources;
  if (!adds)
    std::erase_if(
        sources, [&](u32 id) { return std::ranges::find(flow.results, id) != flow.results.end(); });
  const Birth birth = source_birth(warp, sources, mask, pc);
  if (form.a_in_registers) {
    for (u32 r = 0; r < 4; ++r) {
      const u32* bits = shadow.lanes32(list[form.d_registers() + r]);
      for (u32 lane = 0; lane < kLanes; ++lane) {
        if (bits[lane] != 0) rows[r % 2] |= 0xFU << (lane & ~3U);
      }
    }
  }
  // Before it is issued: where it completes at once, more is added.
  for (std::size_t r = 0; r < flow.results.size(); ++r) {
    const RegisterPlace& place = place_of(warp, flow.results[r]);
    if (!adds) shadow.define(place, mask);
    const std::size_t half = form.d == Accumulator::F16 ? r % 2 : r / 2 % 2;
    for (u32 lane = 0; lane < kLanes; ++lane) {
      u32& bits = shadow.lanes32(place.offset)[lane];
      if (bits != 0 || ((rows[half] >> lane) & 1U) != 0) bits = ~0U;
    }
    if (shadow.undefined(place) != 0) shadow.birth(place) = birth;
  }
  return inst.run(warp, inst, mask);
}

}  // namespace pyptx::emu
