// SPDX-License-Identifier: Apache-2.0
//
// What a tcgen05.mma instruction says besides its operands, packed into Inst::imm, and where its
// operands stand in the list.
#pragma once

#include "decode/program.h"
#include "pyptx/layout/tcgen05_descriptor.h"

namespace pyptx::emu {

/// Operands of a product in Program::lists; the words of disable-output-lane follow.
enum Tcgen05Field : u32 {
  kTensorD,
  kTensorA,
  kTensorB,
  kInstruction,
  kEnableD,
  kScaleA,
  kScaleB,
  kOffsetD,  // of the addresses in tensor memory: themselves, not places of registers
  kOffsetA,
  kOffsetScaleA,
  kOffsetScaleB,
  kDisabledLanes
};

struct Tcgen05Form {
  layout::MmaKind kind = layout::MmaKind::F16;
  u8 cta_group = 1;
  u8 scales = 0;   // scale factors along K; 0: none
  u8 scale_d = 0;  // D is multiplied with 2^-scale_d
  u8 disabled_words = 0;
  bool a_in_tensor_memory = false;
  bool is_ws = false;

  i64 pack() const {
    return static_cast<i64>(kind) | i64{cta_group} << 8 | i64{scales} << 16 | i64{scale_d} << 24 |
           i64{disabled_words} << 32 | i64{a_in_tensor_memory} << 40 | i64{is_ws} << 41;
  }
  static Tcgen05Form unpack(i64 bits) {
    const auto byte = [bits](u32 at) { return static_cast<u8>(bits >> at & 0xFF); };
    return {static_cast<layout::MmaKind>(byte(0)),
            byte(8),
            byte(16),
            byte(24),
            byte(32),
            (bits >> 40 & 1) != 0,
            (bits >> 41 & 1) != 0};
  }
};

}  // namespace pyptx::emu
