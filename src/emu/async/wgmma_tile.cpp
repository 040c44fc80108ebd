// SPDX-License-Identifier: Apache-2.0
//
// Rows of operand tiles, and the products of single bits, which are counts of whole words.
#include "async/wgmma_tile.h"

#include <array>
#include <bit>
#include <cstring>
#include <vector>

#include "async/wgmma_form.h"
#include "machine/cluster.h"

namespace pyptx::emu {
namespace {

/// The 16 bytes at a shared address, where they are in shared memory. They are elements of `count`
/// rows from `first` on.
const std::byte* chunk_at(const Cta& cta, u32 address, TileGaps& gaps, u32 first, u32 count) {
  const u32 at = address & 0x3FFFFU;
  if (at < kSharedReserved || at + 16 > cta.shared.size()) return nullptr;
  if (!cta.defined.holds_chunk(at)) {
    const u32 undefined = cta.defined.undefined(at, 16);
    const u32 bytes = 16 / count;
    if (gaps.rows.none()) gaps.address = at + Warp::first_lane(undefined);
    for (u32 i = 0; i < count; ++i) {
      if ((undefined >> (i * bytes) & ((1U << bytes) - 1)) != 0) gaps.rows.set(first + i);
    }
  }
  return cta.shared.data() + at;
}

using BitRow = std::array<u32, 8>;  // 256 places along K

bool read_bit_rows(const Cta& cta, u64 bits, u32 rows, std::vector<BitRow>& to, TileGaps& gaps) {
  const auto descriptor = layout::MatrixDescriptor::decode(bits);
  to.resize(rows);
  for (u32 row = 0; row < rows; ++row) {
    for (u32 byte = 0; byte < 32; byte += 16) {
      const u32 at = descriptor.address(layout::Major::K, 1, row, byte);
      const std::byte* from = chunk_at(cta, at, gaps, row, 1);
      if (from == nullptr) return false;
      std::memcpy(&to[row][byte / 4], from, 16);
    }
  }
  return true;
}

}  // namespace

void negate(float* values, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) values[i] = -values[i];
}

diag::Diagnostic outside(const WgmmaOp& op, char tile) {
  return bad_descriptor(op, std::string("the ") + tile + " tile leaves the CTA's shared memory");
}

void carry_gaps(Cta& cta, u32 warpgroup, const WgmmaOp& op, const TileGaps& a, const TileGaps& b) {
  const WgmmaForm form = WgmmaForm::unpack(op.inst->imm);
  const bool is_whole = a.rows.none() && b.rows.none();
  const u32 halves = form.d == Accumulator::F16 ? 2 : 1;  // elements of a register
  for (u32 w = 0; w < 4; ++w) {
    Warp& warp = cta.warps[warpgroup * 4 + w];
    if (is_whole && !warp.shadow) continue;
    carries_undefined(warp);
    const u32* list = warp.program->lists.data() + op.inst->list;
    for (u32 r = 0; r < form.d_registers(); ++r) {
      const RegisterPlace place{list[r], 32, 4};
      // What A in registers lacks was noted when it was issued.
      if (!op.scale_d && !form.a_in_registers) warp.shadow->define(place, kAllLanes);
      for (u32 lane = 0; lane < kLanes && !is_whole; ++lane) {
        for (u32 e = 0; e < halves; ++e) {
          const u32 i = r * halves + e;
          const u32 row = 16 * w + lane / 4 + i / 2 % 2 * 8;
          const u32 column = i / 4 * 8 + lane % 4 * 2 + i % 2;
          if (!a.rows[row] && !b.rows[column]) continue;
          warp.shadow->lanes32(list[r])[lane] |= halves == 1 ? ~0U : 0xFFFFU << (16 * e);
          const u32 address = cta.rank << kRankShift | (a.rows[row] ? a.address : b.address);
          const u32 pc = static_cast<u32>(op.inst - warp.program->code.data());
          warp.shadow->birth(place) = {pc, ~0U, Space::Shared, address};
        }
      }
    }
  }
}

diag::Diagnostic bad_descriptor(const WgmmaOp& op, const std::string& problem) {
  return diag::Diagnostic(diag::Kind::EmuDescriptor, {problem})
      .note("A descriptor " + hex(op.a_descriptor) + ", B descriptor " + hex(op.b_descriptor));
}

bool read_rows(const Cta& cta, const TileOperand& operand, u32 group, float* rows, TileGaps& gaps) {
  const u32 bytes = info(operand.element).bits / 8;
  const u32 chunk = 16 / bytes;
  const u32 depth = operand.depth;
  const bool along_k = operand.major == layout::Major::K;
  // Across K sixteen bytes hold the 8 rows of 16-bit elements; of narrower ones, those of two
  // groups.
  const u32 first = along_k ? group * 8 : group * 8 / chunk * chunk;
  const std::byte* chunks[kGreatestTileDepth * 2];
  u32 count = 0;
  for (u32 o = 0; o < (along_k ? 8 : depth); ++o) {
    for (u32 i = 0; i < (along_k ? depth : chunk); i += chunk) {
      const u32 at = operand.descriptor.address(operand.major, bytes, along_k ? first + o : first,
                                                along_k ? i : o);
      chunks[count] =
          along_k ? chunk_at(cta, at, gaps, first + o, 1) : chunk_at(cta, at, gaps, first, chunk);
      if (chunks[count++] == nullptr) return false;
    }
  }
  if (along_k) {
    panel_kernels().decode_chunks(operand.element, chunks, count, rows);
  } else {
    float values[16 * kGreatestTileDepth];
    panel_kernels().decode_chunks(operand.element, chunks, count, values);
    for (u32 row = 0; row < 8; ++row) {
      const float* from = values + group * 8 - first + row;
      for (u32 k = 0; k < depth; ++k) rows[row * depth + k] = from[k * chunk];
    }
  }
  if (operand.is_negative) negate(rows, std::size_t{8} * depth);
  return true;
}

std::optional<diag::Diagnostic> multiply_bits(Cta& cta, u32 warpgroup, const WgmmaOp& op) {
  const WgmmaForm form = WgmmaForm::unpack(op.inst->imm);
  const u32* list = cta.warps[warpgroup * 4].program->lists.data() + op.inst->list;
  std::vector<BitRow> a(64);
  std::vector<BitRow> b;
  TileGaps a_gaps;
  TileGaps b_gaps;
  if (form.a_in_registers) {
    for (u32 row = 0; row < 64; ++row) {
      Warp& warp = cta.warps[warpgroup * 4 + row / 16];
      const u32* held = list + form.d_registers() + row / 8 % 2;  // registers 0 and 2, or 1 and 3
      for (u32 word = 0; word < 8; ++word) {
        a[row][word] = warp.lanes32(held[word / 4 * 2])[row % 8 * 4 + word % 4];
      }
    }
  } else if (!read_bit_rows(cta, op.a_descriptor, 64, a, a_gaps)) {
    return outside(op, 'A');
  }
  if (!read_bit_rows(cta, op.b_descriptor, form.columns, b, b_gaps)) return outside(op, 'B');
  for (u32 thread = 0; thread < 128; ++thread) {
    Warp& warp = cta.warps[warpgroup * 4 + thread / kLanes];
    const u32 lane = thread % kLanes;
    for (u32 r = 0; r < form.d_registers(); ++r) {
      const BitRow& x = a[thread / kLanes * 16 + lane / 4 + r / 2 % 2 * 8];
      const BitRow& y = b[r / 4 * 8 + lane % 4 * 2 + r % 2];
      u32& d = warp.lanes32(list[r])[lane];
      u32 sum = op.scale_d ? d : 0;
      for (u32 word = 0; word < 8; ++word) {
        sum += static_cast<u32>(std::popcount(x[word] & y[word]));
      }
      d = sum;
    }
  }
  carry_gaps(cta, warpgroup, op, a_gaps, b_gaps);
  return std::nullopt;
}

}  // namespace pyptx::emu
