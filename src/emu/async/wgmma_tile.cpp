// SPDX-License-Identifier: Apache-2.0
//
// Rows of operand tiles, and the products of single bits, which are counts of whole words.
#include "async/wgmma_tile.h"

#include <array>
#include <bit>
#include <cstring>
#include <vector>

#include "async/wgmma_form.h"
#include "cluster.h"

namespace pyptx::emu {
namespace {

/// The 16 bytes at a shared address; null with the fault set where they cannot be read.
const std::byte* chunk_at(const Cta& cta, u32 address, std::optional<TileFault>& fault) {
  const u32 at = address & 0x3FFFFU;
  const bool is_outside = at < kSharedReserved || at + 16 > cta.shared.size();
  if (is_outside || !cta.written.holds_chunk(at)) {
    fault = TileFault{at, is_outside};
    return nullptr;
  }
  return cta.shared.data() + at;
}

using BitRow = std::array<u32, 8>;  // 256 places along K

std::optional<TileFault> read_bit_rows(const Cta& cta, u64 bits, u32 rows,
                                       std::vector<BitRow>& to) {
  const auto descriptor = layout::MatrixDescriptor::decode(bits);
  std::optional<TileFault> fault;
  to.resize(rows);
  for (u32 row = 0; row < rows; ++row) {
    for (u32 byte = 0; byte < 32; byte += 16) {
      const u32 at = descriptor.address(layout::Major::K, 1, row, byte);
      const std::byte* from = chunk_at(cta, at, fault);
      if (from == nullptr) return fault;
      std::memcpy(&to[row][byte / 4], from, 16);
    }
  }
  return std::nullopt;
}

}  // namespace

void negate(float* values, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) values[i] = -values[i];
}

diag::Diagnostic describe(const Warp& warp, const WgmmaOp& op, const TileFault& fault, char tile) {
  const std::string name = std::string("the ") + tile + " tile";
  if (!fault.is_outside) {
    const u32 address = warp.cta->rank << kRankShift | fault.address;
    return {diag::Kind::EmuUninitialised,
            {"wgmma", describe_address(warp, Space::Shared, address) + ", in " + name}};
  }
  return bad_descriptor(op, name + " leaves the CTA's shared memory");
}

diag::Diagnostic bad_descriptor(const WgmmaOp& op, const std::string& problem) {
  return diag::Diagnostic(diag::Kind::EmuDescriptor, {problem})
      .note("A descriptor " + hex(op.a_descriptor) + ", B descriptor " + hex(op.b_descriptor));
}

std::optional<TileFault> read_rows(const Cta& cta, const TileOperand& operand, u32 group,
                                   float* rows) {
  std::optional<TileFault> fault;
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
      chunks[count] = chunk_at(cta, at, fault);
      if (chunks[count++] == nullptr) return fault;
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
  return std::nullopt;
}

std::optional<diag::Diagnostic> multiply_bits(Cta& cta, u32 warpgroup, const WgmmaOp& op) {
  const WgmmaForm form = WgmmaForm::unpack(op.inst->imm);
  const u32* list = cta.warps[warpgroup * 4].program->lists.data() + op.inst->list;
  std::vector<BitRow> a(64);
  std::vector<BitRow> b;
  if (form.a_in_registers) {
    for (u32 row = 0; row < 64; ++row) {
      Warp& warp = cta.warps[warpgroup * 4 + row / 16];
      const u32* held = list + form.d_registers() + row / 8 % 2;  // registers 0 and 2, or 1 and 3
      for (u32 word = 0; word < 8; ++word) {
        a[row][word] = warp.lanes32(held[word / 4 * 2])[row % 8 * 4 + word % 4];
      }
    }
  } else if (const auto fault = read_bit_rows(cta, op.a_descriptor, 64, a)) {
    return describe(cta.warps[warpgroup * 4], op, *fault, 'A');
  }
  if (const auto fault = read_bit_rows(cta, op.b_descriptor, form.columns, b)) {
    return describe(cta.warps[warpgroup * 4], op, *fault, 'B');
  }
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
  return std::nullopt;
}

}  // namespace pyptx::emu
