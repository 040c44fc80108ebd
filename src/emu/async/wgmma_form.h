// SPDX-License-Identifier: Apache-2.0
//
// What a wgmma.mma_async instruction says besides its operands, packed into Inst::imm.
#pragma once

#include "types.h"

namespace pyptx::emu {

struct WgmmaForm {
  Ty d = Ty::None;
  Ty a = Ty::None;
  Ty b = Ty::None;
  u32 columns = 0;
  bool negate_a = false;
  bool negate_b = false;
  bool trans_a = false;
  bool trans_b = false;
  bool a_in_registers = false;
  bool saturate = false;

  /// 0 where the emulator has no such operand type.
  u32 element_bytes() const {
    switch (a) {
      case Ty::F16:
      case Ty::BF16:
        return 2;
      case Ty::TF32:
        return 4;
      case Ty::E4M3:
      case Ty::E5M2:
      case Ty::S8:
      case Ty::U8:
        return 1;
      default:
        return 0;
    }
  }
  bool is_integer() const { return a == Ty::S8 || a == Ty::U8; }
  u32 depth() const { return 32 / element_bytes(); }
  /// 32-bit registers of D per thread.
  u32 d_registers() const { return columns / (d == Ty::F16 ? 4 : 2); }

  i64 pack() const {
    return static_cast<i64>(d) | static_cast<i64>(a) << 8 | static_cast<i64>(b) << 16 |
           static_cast<i64>(columns) << 24 | i64{negate_a} << 40 | i64{negate_b} << 41 |
           i64{trans_a} << 42 | i64{trans_b} << 43 | i64{a_in_registers} << 44 |
           i64{saturate} << 45;
  }
  static WgmmaForm unpack(i64 bits) {
    const auto flag = [bits](u32 at) { return ((bits >> at) & 1) != 0; };
    WgmmaForm form;
    form.d = static_cast<Ty>(bits & 0xFF);
    form.a = static_cast<Ty>((bits >> 8) & 0xFF);
    form.b = static_cast<Ty>((bits >> 16) & 0xFF);
    form.columns = static_cast<u32>((bits >> 24) & 0xFFFF);
    form.negate_a = flag(40);
    form.negate_b = flag(41);
    form.trans_a = flag(42);
    form.trans_b = flag(43);
    form.a_in_registers = flag(44);
    form.saturate = flag(45);
    return form;
  }
};

}  // namespace pyptx::emu
