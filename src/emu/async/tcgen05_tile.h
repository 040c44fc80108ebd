// SPDX-License-Identifier: Apache-2.0
//
// Operands of tcgen05: the 16-byte pieces of a matrix in shared memory, and rows of floats out of
// shared or tensor memory.
#pragma once

#include <vector>

#include "async/tcgen05_queue.h"
#include "machine/cta.h"
#include "numerics/element.h"

namespace pyptx::emu {

/// A matrix in the shared memory of one CTA.
struct SharedOperand {
  layout::Tcgen05MatrixDescriptor descriptor;
  layout::Major major = layout::Major::K;
  Element element = Element::None;  // as it lies there
  u32 rows = 0;                     // M or N of this CTA; rows of a copy
  u32 bytes = 0;                    // of a row along K
  bool is_negative = false;

  u32 element_bytes() const { return std::max(info(element).bits / 8U, 1U); }
  /// Elements of sixteen bytes.
  u32 chunk() const { return 128 / info(element).bits; }
};

/// Bits of an element that 16 bytes of shared memory hold packed at their start; 0: they do not.
u32 packed_bits(Element element);
/// Sixteen such elements, to a byte each.
void unpack_elements(const std::byte* from, u32 bits, std::byte* to);
Element element_of(layout::ElementFormat format, layout::MmaKind kind);
/// A, unless it is in tensor memory, and B; or the source of a copy.
std::vector<SharedOperand> shared_operands(const TensorOp& op);
/// Words of a lane that A takes in tensor memory, and bytes of a row in shared memory: of any type.
inline constexpr u32 kTensorRowWords = 8;
inline constexpr u32 kTensorRowBytes = 32;

/// Calls visit(address, number) for every 16 bytes until it says no: along K row by row, across it
/// one place along K after the other.
template <typename Visit>
bool each_chunk(const SharedOperand& operand, Visit&& visit) {
  const bool along_k = operand.major == layout::Major::K;
  const u32 bytes = operand.element_bytes();
  u32 number = 0;
  const u32 depth = operand.bytes / bytes;
  for (u32 o = 0; o < (along_k ? operand.rows : depth); ++o) {
    for (u32 i = 0; i < (along_k ? operand.bytes : operand.rows * bytes); i += 16) {
      const u32 at = operand.descriptor.address(operand.major, bytes, along_k ? o : i / bytes,
                                                along_k ? i / bytes : o);
      if (!visit(at, number++)) return false;
    }
  }
  return true;
}

/// Rows of `depth` floats; false when the matrix leaves shared memory. Those that nobody wrote
/// whole are marked in `gaps`, from `first` on.
bool read_shared(const Cta& cta, const SharedOperand& operand, u32 depth, float* rows,
                 std::vector<u8>& gaps, u32 first);
/// A out of tensor memory, the rows of one CTA.
TensorProblem read_tensor(Cta& cta, const TensorOp& op, u32 depth, float* rows,
                          std::vector<u8>& gaps, u32 first);

}  // namespace pyptx::emu
