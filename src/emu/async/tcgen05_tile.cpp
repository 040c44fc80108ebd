// SPDX-License-Identifier: Apache-2.0
//
// Operands of tcgen05 (PTX ISA, "Packing formats of elements in Tensor and Shared memory"). In
// shared memory sixteen elements of 4 or 6 bits are packed at the start of 16 bytes, except for the
// 4-bit kinds, which pack two to a byte; in tensor memory each has a byte.
#include "async/tcgen05_tile.h"

#include <cstring>

#include "machine/cluster.h"
#include "numerics/panel.h"

namespace pyptx::emu {
namespace {

using layout::ElementFormat;
using layout::MmaKind;

const std::byte* chunk_at(const Cta& cta, u32 address) {
  const u32 at = address & 0x3FFFFU;
  if (at < kSharedReserved || at + 16 > cta.shared.size()) return nullptr;
  return cta.shared.data() + at;
}

}  // namespace

u32 packed_bits(Element element) {
  return element == Element::E2M1                               ? 4
         : element == Element::E2M3 || element == Element::E3M2 ? 6
                                                                : 0;
}

void unpack_elements(const std::byte* from, u32 bits, std::byte* to) {
  u64 words[2];
  std::memcpy(words, from, 16);
  for (u32 i = 0; i < 16; ++i) {
    const u32 at = i * bits;
    u64 value = words[at / 64] >> (at % 64);
    if (at % 64 + bits > 64) value |= words[1] << (64 - at % 64);
    value &= (1U << bits) - 1;
    to[i] = static_cast<std::byte>(bits == 4 ? value << 2 : value);  // 4 bits lie in the middle
  }
}

Element element_of(ElementFormat format, MmaKind kind) {
  switch (format) {
    case ElementFormat::F16:
      return Element::F16;
    case ElementFormat::Bf16:
      return Element::BF16;
    case ElementFormat::Tf32:
      return Element::TF32;
    case ElementFormat::E4m3:
      return Element::E4M3;
    case ElementFormat::E5m2:
      return Element::E5M2;
    case ElementFormat::E2m3:
      return Element::E2M3;
    case ElementFormat::E3m2:
      return Element::E3M2;
    case ElementFormat::E2m1:
      return kind == MmaKind::Mxf4 || kind == MmaKind::Mxf4nvf4 ? Element::PackedE2M1
                                                                : Element::E2M1;
    case ElementFormat::U8:
      return Element::U8;
    case ElementFormat::S8:
      return Element::S8;
    default:
      return Element::None;
  }
}

std::vector<SharedOperand> shared_operands(const TensorOp& op) {
  using layout::Tcgen05MatrixDescriptor;
  if (op.kind == TensorOp::Kind::Copy) {
    const layout::CopyShape shape = layout::copy_shape(op.copy);
    return {{Tcgen05MatrixDescriptor::decode(op.a), layout::Major::K, Element::U8, shape.rows,
             shape.bytes}};
  }
  const layout::InstructionDescriptor& i = op.instruction;
  const auto major = [](bool is_transposed) {
    return is_transposed ? layout::Major::MN : layout::Major::K;
  };
  std::vector<SharedOperand> operands;
  if (!op.form.a_in_tensor_memory) {
    operands.push_back({Tcgen05MatrixDescriptor::decode(op.a), major(i.transpose_a),
                        element_of(i.a, i.kind), i.m / op.cta_group, kTensorRowBytes, i.negate_a});
  }
  operands.push_back({Tcgen05MatrixDescriptor::decode(op.b), major(i.transpose_b),
                      element_of(i.b, i.kind), i.n / op.cta_group, kTensorRowBytes, i.negate_b});
  return operands;
}

bool read_shared(const Cta& cta, const SharedOperand& operand, u32 depth, float* rows,
                 std::vector<u8>& gaps, u32 first_row) {
  const u32 chunk = operand.chunk();
  const u32 bits = packed_bits(operand.element);
  const bool along_k = operand.major == layout::Major::K;
  const u32 across = along_k ? 0 : operand.rows / chunk;  // chunks of one place along K
  float values[32];
  const bool is_inside = each_chunk(operand, [&](u32 address, u32 number) {
    const std::byte* from = chunk_at(cta, address);
    if (from == nullptr) return false;
    if (const u32 at = address & 0x3FFFFU; !cta.defined.holds_chunk(at)) {
      const u32 undefined = cta.defined.undefined(at, 16);
      const u32 bytes = along_k ? 16 : 16 / chunk;  // of a row
      for (u32 i = 0; i < 16 / bytes; ++i) {
        const u32 row = along_k ? number * chunk / depth : number % across * chunk + i;
        if ((undefined >> (i * bytes) & ((1U << bytes) - 1)) != 0) gaps[first_row + row] = 1;
      }
    }
    std::byte unpacked[16];
    if (bits != 0) {
      unpack_elements(from, bits, unpacked);
      from = unpacked;
    }
    if (along_k) {
      panel_kernels().decode_chunks(operand.element, &from, 1, rows + number * chunk);
      return true;
    }
    panel_kernels().decode_chunks(operand.element, &from, 1, values);
    const u32 k = number / across;
    const u32 first = number % across * chunk;
    for (u32 i = 0; i < chunk; ++i) rows[(first + i) * depth + k] = values[i];
    return true;
  });
  if (is_inside && operand.is_negative) {
    for (std::size_t i = 0; i < std::size_t{operand.rows} * depth; ++i) rows[i] = -rows[i];
  }
  return is_inside;
}

TensorProblem read_tensor(Cta& cta, const TensorOp& op, u32 depth, float* rows,
                          std::vector<u8>& gaps, u32 first) {
  const layout::AccumulatorLayout layout = op.layout();
  const layout::OperandCopies copies = layout::operand_copies(layout);
  const TensorAddress at = TensorAddress::of(static_cast<u32>(op.a));
  const Element element = element_of(op.instruction.a, op.instruction.kind);
  const u32 count = op.instruction.m / op.cta_group;
  for (u32 row = 0; row < count; ++row) {
    const u32 lane = at.lane + layout::accumulator_place(layout, row, 0).lane;
    for (u32 column = at.column; column < at.column + kTensorRowWords; ++column) {
      for (u32 i = 0; i < copies.count; ++i) {
        const u32 other = lane + i * copies.lanes;
        if (!cta.tensor.is_written(other, column)) {
          return {diag::Kind::EmuTensorUninitialised,
                  {tensor_text(other, column), "A has no value there"}};
        }
        if (!cta.tensor.is_defined(other, column)) gaps[first + row] = 1;
        if (cta.tensor.row(other)[column] != cta.tensor.row(lane)[column]) {
          return {diag::Kind::EmuTensorAccess,
                  {tensor_text(other, column),
                   "A differs from its copy in lane " + std::to_string(lane) +
                       ": this layout multiplies each part of N with its own copy"}};
        }
      }
    }
    const auto* words = reinterpret_cast<const std::byte*>(cta.tensor.row(lane) + at.column);
    const std::byte* chunks[2] = {words, words + 16};
    panel_kernels().decode_chunks(element, chunks, 2, rows + std::size_t{row} * depth);
  }
  if (op.instruction.negate_a) {
    for (std::size_t i = 0; i < std::size_t{count} * depth; ++i) rows[i] = -rows[i];
  }
  return {};
}

}  // namespace pyptx::emu
