// SPDX-License-Identifier: Apache-2.0
//
// ldmatrix and stmatrix of 8-bit elements, and of 4- and 6-bit ones that become 8-bit, and
// movmatrix (PTX ISA, "ldmatrix", "stmatrix", "movmatrix", "Optional Decompression"). A row of
// memory has 16 bytes in every format.
#include <array>
#include <cstring>

#include "decode/select.h"
#include "machine/cluster.h"
#include "pyptx/layout/fragment.h"
#include "sem/lanes.h"
#include "sem/matrix/ldmatrix.h"
#include "sem/matrix/mma.h"

namespace pyptx::emu {
namespace {

enum class Source : u8 { Bytes, SixBits, FourBits };

// Inst: kind has the shape, kind2 the bytes of the address as everywhere, element_bytes the format.
enum class MatrixShape : u8 { M16N16, M8N16, M16N8 };

layout::Fragment fragment_of(const Inst& inst) {
  switch (static_cast<MatrixShape>(inst.kind)) {
    case MatrixShape::M16N16:
      return layout::ldmatrix_m16n16(inst.list_count / 2U);
    case MatrixShape::M8N16:
      return layout::ldmatrix_m8n16(inst.list_count);
    case MatrixShape::M16N8:
      return layout::stmatrix_m16n8(inst.list_count);
  }
  return {};
}

/// Element `i` of a row of memory, in a byte. Four bits go to the middle of it.
u32 element_of(const std::byte* row, u32 i, Source source) {
  if (source == Source::Bytes) return static_cast<u8>(row[i]);
  const u32 bits = source == Source::SixBits ? 6 : 4;
  u16 word = 0;
  std::memcpy(&word, row + i * bits / 8, i * bits / 8 < 15 ? 2 : 1);
  const u32 value = word >> (i * bits % 8) & ((1U << bits) - 1);
  return source == Source::FourBits ? value << 2 : value;
}

Step load_bytes(Warp& warp, const Inst& inst, u32 mask) {
  const Step step = converge_whole(warp, inst, mask);
  if (step != Step::Next) return step;
  const layout::Fragment fragment = fragment_of(inst);
  const u32 rows = static_cast<MatrixShape>(inst.kind) == MatrixShape::M16N16 ? 16 : 8;
  const u32 matrices = rows == 16 ? inst.list_count / 2U : inst.list_count;
  std::byte* at[kLanes];
  if (!matrix_rows(warp, inst, rows * matrices, false, at)) return Step::Fault;
  const u32* list = warp.program->lists.data() + inst.list;
  u32 results[4][kLanes] = {};
  for (u32 reg = 0; reg < fragment.registers; ++reg) {
    for (u32 lane = 0; lane < kLanes; ++lane) {
      for (u32 e = 0; e < 4; ++e) {
        const layout::FragmentPlace place = fragment.at(lane, reg, e);
        const u32 element = element_of(at[place.matrix * rows + place.row], place.column,
                                       static_cast<Source>(inst.element_bytes));
        results[reg][lane] |= element << (8 * e);
      }
    }
  }
  for (u32 reg = 0; reg < fragment.registers; ++reg) {
    std::memcpy(warp.lanes32(list[reg]), results[reg], sizeof(results[reg]));
  }
  return Step::Next;
}

/// Memory has a row for each column of the matrix.
Step store_bytes(Warp& warp, const Inst& inst, u32 mask) {
  const Step step = converge_whole(warp, inst, mask);
  if (step != Step::Next) return step;
  const layout::Fragment fragment = fragment_of(inst);
  std::byte* at[kLanes];
  if (!matrix_rows(warp, inst, 8U * inst.list_count, true, at)) return Step::Fault;
  const u32* list = warp.program->lists.data() + inst.list;
  for (u32 reg = 0; reg < fragment.registers; ++reg) {
    for (u32 lane = 0; lane < kLanes; ++lane) {
      for (u32 e = 0; e < 4; ++e) {
        const layout::FragmentPlace place = fragment.at(lane, reg, e);
        at[place.matrix * 8 + place.column][place.row] =
            static_cast<std::byte>(warp.lanes32(list[reg])[lane] >> (8 * e));
      }
    }
  }
  return Step::Next;
}

Step transpose(Warp& warp, const Inst& inst, u32 mask) {
  const Step step = converge_whole(warp, inst, mask);
  if (step != Step::Next) return step;
  const u32* a = warp.lanes32(inst.a);
  u32 result[kLanes];
  for (u32 lane = 0; lane < kLanes; ++lane) {
    u32 pair = 0;
    for (u32 e = 0; e < 2; ++e) {
      // Row r of the source is in lanes 4 r to 4 r + 3; a lane gets two of a column.
      const u32 row = lane % 4 * 2 + e;
      const u32 column = lane / 4;
      const u32 half = a[row * 4 + column / 2] >> (16 * (column % 2)) & 0xFFFFU;
      pair |= half << (16 * e);
    }
    result[lane] = pair;
  }
  std::memcpy(warp.lanes32(inst.d), result, sizeof(result));
  return Step::Next;
}

}  // namespace

Handler byte_matrix_handler(Lowering& low, bool is_load) {
  Inst& out = low.out;
  const std::string_view shape = low.take_any({"m16n16", "m8n16", "m16n8"});
  out.kind = static_cast<u8>(shape == "m16n16"  ? MatrixShape::M16N16
                             : shape == "m8n16" ? MatrixShape::M8N16
                                                : MatrixShape::M16N8);
  low.ignore({"trans"});  // the only direction that each of them has
  Source source = Source::Bytes;
  if (low.take("b8x16")) {
    source = low.take_any({"b6x16_p32", "b4x16_p64"}) == "b6x16_p32" ? Source::SixBits
                                                                     : Source::FourBits;
  } else if (!low.take("b8")) {
    return nullptr;
  }
  out.element_bytes = static_cast<u8>(source);
  return is_load ? &load_bytes : &store_bytes;
}

Handler select_movmatrix(Lowering& low) {
  low.ignore({"sync", "aligned", "m8n8", "trans", "b16"});
  low.out.d = low.dest(0, Ty::B32);
  low.out.a = low.source(1, Ty::B32);
  return &transpose;
}

}  // namespace pyptx::emu
