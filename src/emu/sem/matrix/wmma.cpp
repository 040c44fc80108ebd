// SPDX-License-Identifier: Apache-2.0
//
// wmma.load and wmma.store (PTX ISA, "Warp-level Matrix Load Instruction: wmma.load" and its like).
// Which lane holds which element is open in the manual; here it is layout::wmma_a and its like, and
// what wmma.mma (mma_select.cpp) takes.
#include <bit>
#include <string>

#include "decode/select.h"
#include "machine/cluster.h"
#include "memory/relaxed.h"
#include "numerics/element.h"
#include "pyptx/layout/fragment.h"
#include "sem/lanes.h"
#include "sem/matrix/mma.h"

namespace pyptx::emu {
namespace {

/// A fragment in memory.
struct Access {
  layout::Fragment fragment;
  u32 bits = 0;  // of an element
  bool by_columns = false;
};

struct WmmaShape {
  u32 m = 0;
  u32 n = 0;
  u32 k = 0;
};

// Inst: b has the stride, kind the shape and the matrix, element_bytes the bits of an element, flag
// says by columns; the rest as in any access.
constexpr WmmaShape kShapes[] = {{16, 16, 16}, {8, 32, 16}, {32, 8, 16}, {16, 16, 8},
                                 {8, 8, 4},    {8, 8, 32},  {8, 8, 128}};

enum class Matrix : u8 { A, B, Accumulator };

Access access_of(const Inst& inst) {
  const WmmaShape& shape = kShapes[inst.kind & 15U];
  const auto matrix = static_cast<Matrix>(inst.kind >> 4);
  Access access;
  access.bits = inst.element_bytes;
  switch (matrix) {
    case Matrix::A:
      access.fragment = layout::wmma_a(shape.m, shape.k, access.bits);
      break;
    case Matrix::B:
      access.fragment = layout::wmma_b(shape.k, shape.n, access.bits);
      break;
    case Matrix::Accumulator:
      access.fragment = layout::wmma_accumulator(shape.m, shape.n, access.bits);
      break;
  }
  access.by_columns = inst.flag;
  return access;
}

/// Bits from the base to an element.
u64 offset_of(const Access& access, const layout::FragmentPlace& at, u32 stride) {
  const u64 along = access.by_columns ? at.row : at.column;
  const u64 across = access.by_columns ? at.column : at.row;
  return (across * stride + along) * access.bits;
}

/// Calls move(register, lane, bit of the register, memory, bytes) for each piece of the fragment.
template <typename Move>
bool each_piece(Warp& warp, const Inst& inst, bool is_write, Move&& move) {
  const Access access = access_of(inst);
  const u32 stride = warp.lanes32(inst.b)[0];  // elements
  // Elements below a byte lie side by side in memory as they do in the register.
  const bool is_whole = access.bits < 8;
  const u32 bytes = is_whole ? 4 : access.bits / 8;
  for (u32 reg = 0; reg < access.fragment.registers; ++reg) {
    for (u32 lane = 0; lane < kLanes; ++lane) {
      const u64 base = lane_address(warp, inst, lane);
      for (u32 e = 0; e < (is_whole ? 1 : access.fragment.elements); ++e) {
        const u64 offset = offset_of(access, access.fragment.at(lane, reg, e), stride);
        std::byte* memory =
            resolve(warp, inst,
                    {inst.space, base + offset / 8, bytes, bytes, lane, is_write,
                     is_write ? "wmma.store" : "wmma.load", AccessOrder::Collective});
        if (memory == nullptr) return false;
        move(reg, lane, e * access.bits, memory, bytes);
      }
    }
  }
  return true;
}

Step load_fragment(Warp& warp, const Inst& inst, u32 mask) {
  const Step step = converge_whole(warp, inst, mask);
  if (step != Step::Next) return step;
  const u32* list = warp.program->lists.data() + inst.list;
  u64 values[8][kLanes] = {};  // at most: the address may be among the registers that are written
  u32 registers = 0;
  const bool is_done =
      each_piece(warp, inst, false, [&](u32 reg, u32 lane, u32 bit, std::byte* from, u32 bytes) {
        u64 value = 0;
        copy_from_global(reinterpret_cast<std::byte*>(&value), from, bytes);
        values[reg][lane] |= value << bit;
        registers = reg + 1;
      });
  if (!is_done) return Step::Fault;
  for (u32 r = 0; r < inst.list_count; ++r) {
    for (u32 lane = 0; lane < kLanes; ++lane) {
      const u64 value = values[r % registers][lane];
      if (inst.element_bytes == 64) {
        warp.lanes64(list[r])[lane] = value;
      } else {
        warp.lanes32(list[r])[lane] = static_cast<u32>(value);
      }
    }
  }
  return Step::Next;
}

Step store_fragment(Warp& warp, const Inst& inst, u32 mask) {
  const Step step = converge_whole(warp, inst, mask);
  if (step != Step::Next) return step;
  const u32* list = warp.program->lists.data() + inst.list;
  const bool is_done =
      each_piece(warp, inst, true, [&](u32 reg, u32 lane, u32 bit, std::byte* to, u32 bytes) {
        const u64 value = inst.element_bytes == 64 ? warp.lanes64(list[reg])[lane]
                                                   : warp.lanes32(list[reg])[lane];
        const u64 piece = value >> bit;
        copy_to_global(to, reinterpret_cast<const std::byte*>(&piece), bytes);
      });
  return is_done ? Step::Next : Step::Fault;
}

std::optional<u8> take_wmma_shape(Lowering& low) {
  for (std::size_t i = 0; i < std::size(kShapes); ++i) {
    const WmmaShape& shape = kShapes[i];
    if (low.take("m" + std::to_string(shape.m) + "n" + std::to_string(shape.n) + "k" +
                 std::to_string(shape.k))) {
      return static_cast<u8>(i);
    }
  }
  return std::nullopt;
}

u32 take_bits(Lowering& low) {
  const std::string_view type =
      low.take_any({"f16", "bf16", "tf32", "f32", "f64", "s32", "s8", "u8", "s4", "u4", "b1"});
  if (type == "f32" || type == "s32") return 32;
  return info(find_element(type)).bits;
}

/// The length of a row, or of a column where the matrix is stored by columns.
u32 default_stride(const WmmaShape& shape, Matrix matrix, bool by_columns) {
  const u32 rows = matrix == Matrix::B ? shape.k : shape.m;
  const u32 columns = matrix == Matrix::A ? shape.k : shape.n;
  return by_columns ? rows : columns;
}

Handler choose_wmma(Lowering& low, bool is_load) {
  Inst& out = low.out;
  low.ignore({"sync", "aligned", "load", "store", "d"});
  const Matrix matrix = low.is_word("a")   ? Matrix::A
                        : low.is_word("b") ? Matrix::B
                                           : Matrix::Accumulator;
  low.take("c");
  out.flag = low.take_any({"row", "col"}) == "col";
  const std::optional<u8> shape = take_wmma_shape(low);
  if (!shape) return nullptr;
  const Space space = take_space(low);
  out.element_bytes = static_cast<u8>(take_bits(low));
  out.kind = static_cast<u8>(*shape | static_cast<u32>(matrix) << 4);
  const ir::Operand& vector = low.operand(is_load ? 0 : 1);
  if (vector.kind != ir::OperandKind::Vector) return low.refuse("an operand is not a vector");
  std::vector<u32> list;
  const Ty type = out.element_bytes == 64 ? Ty::B64 : Ty::B32;
  for (const ir::Operand& one : low.children(vector)) {
    list.push_back(is_load ? low.dest(one, type) : low.source(one, type));
  }
  low.set_list(list);
  set_address(low, low.address(low.operand(is_load ? 1 : 0)), space);
  out.b = low.count() > 2
              ? low.source(2, Ty::U32)
              : low.literal_lanes(Ty::U32, default_stride(kShapes[*shape], matrix, out.flag));
  if (list.size() < access_of(out).fragment.registers || (is_load && list.size() > 8)) {
    return low.refuse("its vector has another number of registers");
  }
  low.access.kind = is_load ? MemoryAccess::Kind::Load : MemoryAccess::Kind::Store;
  low.access.bytes = static_cast<u16>(list.size() * bytes_of(type));
  low.access.is_opaque = true;
  return is_load ? &load_fragment : &store_fragment;
}

}  // namespace

Handler select_wmma_load(Lowering& low) { return choose_wmma(low, true); }
Handler select_wmma_store(Lowering& low) { return choose_wmma(low, false); }

}  // namespace pyptx::emu
