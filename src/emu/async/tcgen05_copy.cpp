// SPDX-License-Identifier: Apache-2.0
//
// tcgen05.cp (PTX ISA, "Tensor Memory Data Movement Instructions"): rows of shared memory become
// lanes, once or for several warps; elements of 4 and 6 bits may become bytes on the way. In a pair
// each CTA copies from its own shared memory.
#include <cstring>

#include "async/tcgen05_tile.h"
#include "machine/cluster.h"

namespace pyptx::emu {

TensorProblem copy(const TensorOp& op) {
  const layout::CopyShape shape = layout::copy_shape(op.copy);
  const TensorAddress to = TensorAddress::of(op.d);
  const u32 chunks = shape.bytes / 16;
  for (Cta* cta : op.ctas()) {
    const bool is_inside = each_chunk(shared_operands(op).front(), [&](u32 address, u32 number) {
      const u32 at = address & 0x3FFFFU;
      if (at < kSharedReserved || at + 16 > cta->shared.size()) return false;
      std::byte bytes[16];
      std::memcpy(bytes, cta->shared.data() + at, 16);
      if (op.packed_bits != 0) unpack_elements(cta->shared.data() + at, op.packed_bits, bytes);
      const u32 column = to.column + number % chunks * 4;
      for (u32 i = 0; i < shape.copies; ++i) {
        const u32 lane = to.lane + layout::copy_lane(op.copy, number / chunks, i);
        std::memcpy(cta->tensor.row(lane) + column, bytes, 16);
        cta->tensor.mark(lane, column, 4);
        if (!cta->defined.holds_chunk(at)) cta->tensor.undefine(lane, column, 4);
      }
      return true;
    });
    if (!is_inside) {
      return {diag::Kind::EmuDescriptor, {"the source of the copy leaves the CTA's shared memory"}};
    }
  }
  return {};
}

}  // namespace pyptx::emu
