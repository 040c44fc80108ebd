// SPDX-License-Identifier: Apache-2.0
//
// ldmatrix and stmatrix of 8x8 matrices of 16-bit elements (PTX ISA, "Warp Level Matrix
// Instructions: ldmatrix, stmatrix"). Which lane holds which element, and which gives the address
// of its row, is layout::ldmatrix_m8n8's.
#include <array>
#include <cstring>

#include "decode/select.h"
#include "machine/cluster.h"
#include "pyptx/layout/fragment.h"
#include "sem/lanes.h"
#include "sem/matrix/ldmatrix.h"
#include "sem/matrix/mma.h"

namespace pyptx::emu {

bool matrix_rows(Warp& warp, const Inst& inst, u32 count, bool is_write, std::byte* (&at)[kLanes]) {
  for (u32 lane = 0; lane < count; ++lane) {
    AccessRequest request{inst.space,
                          lane_address(warp, inst, lane),
                          16,
                          16,
                          lane,
                          is_write,
                          is_write ? "stmatrix" : "ldmatrix",
                          AccessOrder::Collective};
    request.may_carry = !is_write;
    if (request.space == Space::Generic && (request.address & kWindowMask) != kSharedWindow) {
      request.space = Space::Shared;  // refused there: only shared memory holds matrices
    }
    at[lane] = resolve(warp, inst, request);
    if (at[lane] == nullptr) return false;
  }
  return true;
}

namespace {

/// Where half `e` of register `m` of a lane lies: in the row whose address `lane` gives.
struct HalfRow {
  u8 lane;
  u8 byte;
};
using Halves = std::array<std::array<std::array<HalfRow, 2>, kLanes>, 4>;  // [m][lane][e]

Halves make_halves(bool trans) {
  const layout::Fragment fragment = layout::ldmatrix_m8n8(4, trans);
  Halves halves;
  for (u32 m = 0; m < 4; ++m) {
    for (u32 lane = 0; lane < kLanes; ++lane) {
      for (u32 e = 0; e < 2; ++e) {
        const layout::FragmentPlace at = fragment.at(lane, m, e);
        halves[m][lane][e] = {static_cast<u8>(layout::ldmatrix_address_lane(at.matrix, at.row)),
                              static_cast<u8>(2 * at.column)};
      }
    }
  }
  return halves;
}

const Halves& halves_of(const Inst& inst) {
  static const Halves plain = make_halves(false);
  static const Halves transposed = make_halves(true);
  return inst.flag ? transposed : plain;
}

Step load_matrices(Warp& warp, const Inst& inst, u32 mask) {
  const Step step = converge_whole(warp, inst, mask);
  if (step != Step::Next) return step;
  std::byte* at[kLanes];
  if (!matrix_rows(warp, inst, inst.list_count * 8U, false, at)) return Step::Fault;
  const u32* list = warp.program->lists.data() + inst.list;
  const Halves& halves = halves_of(inst);
  u32 result[4][kLanes];
  for (u32 m = 0; m < inst.list_count; ++m) {
    for (u32 lane = 0; lane < kLanes; ++lane) {
      u16 pair[2];
      for (u32 e = 0; e < 2; ++e) {
        const HalfRow half = halves[m][lane][e];
        std::memcpy(&pair[e], at[half.lane] + half.byte, 2);
      }
      result[m][lane] = pair[0] | static_cast<u32>(pair[1]) << 16;
    }
  }
  for (u32 m = 0; m < inst.list_count; ++m) {
    each_active(mask, [&](u32 lane) { warp.lanes32(list[m])[lane] = result[m][lane]; });
  }
  return Step::Next;
}

Step store_matrices(Warp& warp, const Inst& inst, u32 mask) {
  const Step step = converge_whole(warp, inst, mask);
  if (step != Step::Next) return step;
  std::byte* at[kLanes];
  if (!matrix_rows(warp, inst, inst.list_count * 8U, true, at)) return Step::Fault;
  const u32* list = warp.program->lists.data() + inst.list;
  const Halves& halves = halves_of(inst);
  for (u32 m = 0; m < inst.list_count; ++m) {
    each_active(mask, [&](u32 lane) {
      const u32 value = warp.lanes32(list[m])[lane];
      for (u32 e = 0; e < 2; ++e) {
        const u16 bits = static_cast<u16>(value >> (16 * e));
        const HalfRow half = halves[m][lane][e];
        std::memcpy(at[half.lane] + half.byte, &bits, 2);
      }
    });
  }
  return Step::Next;
}

Handler choose_ldmatrix(Lowering& low, bool is_load) {
  low.ignore({"sync", "aligned"});
  const std::string_view num = low.take_any({"x1", "x2", "x4"});
  const Space space = take_space(low);
  Handler handler = nullptr;
  u32 registers = 1;  // of each matrix
  if (low.take("m8n8")) {
    low.out.flag = low.take("trans");
    if (!low.take("b16")) return nullptr;
    handler = is_load ? &load_matrices : &store_matrices;
  } else {
    registers = low.has("m16n16") ? 2 : 1;
    handler = byte_matrix_handler(low, is_load);
    if (handler == nullptr) return nullptr;
  }
  const ir::Operand& r = low.operand(is_load ? 0 : 1);
  std::vector<u32> list;
  const auto add = [&](const ir::Operand& one) {
    list.push_back(is_load ? low.dest(one, Ty::B32) : low.source(one, Ty::B32));
  };
  if (r.kind == ir::OperandKind::Vector) {
    for (const ir::Operand& one : low.children(r)) add(one);
  } else {
    add(r);
  }
  if (num.empty() || list.size() > 4 ||
      list.size() != registers * static_cast<std::size_t>(num[1] - '0')) {
    return nullptr;
  }
  low.set_list(list);
  set_address(low, low.address(low.operand(is_load ? 1 : 0)), space);
  low.access.kind = is_load ? MemoryAccess::Kind::Load : MemoryAccess::Kind::Store;
  low.access.bytes = 16;
  low.access.rows = static_cast<u8>(8 * list.size());
  return handler;
}

}  // namespace

Handler select_ldmatrix(Lowering& low) { return choose_ldmatrix(low, true); }
Handler select_stmatrix(Lowering& low) { return choose_ldmatrix(low, false); }

}  // namespace pyptx::emu
