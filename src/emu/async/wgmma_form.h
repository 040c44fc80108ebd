// SPDX-License-Identifier: Apache-2.0
//
// What a wgmma.mma_async instruction says besides its operands, packed into Inst::imm.
#pragma once

#include "numerics/element.h"
#include "sem/matrix/mma_form.h"

namespace pyptx::emu {

struct WgmmaForm {
  Accumulator d = Accumulator::F32;
  Element a = Element::None;
  Element b = Element::None;
  u32 columns = 0;
  bool negate_a = false;
  bool negate_b = false;
  bool trans_a = false;
  bool trans_b = false;
  bool a_in_registers = false;
  bool saturate = false;
  bool is_sparse = false;
  u8 selector = 0;  // which threads of a quad give the metadata

  bool is_integer() const { return info(a).is_integer; }
  /// Elements along K that are stored of A.
  u32 stored() const { return 256 / info(a).bits; }
  u32 depth() const { return is_sparse ? 2 * stored() : stored(); }
  /// 32-bit registers of D per thread.
  u32 d_registers() const { return columns / (d == Accumulator::F16 ? 4 : 2); }

  i64 pack() const {
    return static_cast<i64>(d) | static_cast<i64>(a) << 8 | static_cast<i64>(b) << 16 |
           static_cast<i64>(columns) << 24 | i64{negate_a} << 40 | i64{negate_b} << 41 |
           i64{trans_a} << 42 | i64{trans_b} << 43 | i64{a_in_registers} << 44 |
           i64{saturate} << 45 | i64{is_sparse} << 46 | i64{selector} << 48;
  }
  static WgmmaForm unpack(i64 bits) {
    const auto flag = [bits](u32 at) { return ((bits >> at) & 1) != 0; };
    WgmmaForm form;
    form.d = static_cast<Accumulator>(bits & 0xFF);
    form.a = static_cast<Element>((bits >> 8) & 0xFF);
    form.b = static_cast<Element>((bits >> 16) & 0xFF);
    form.columns = static_cast<u32>((bits >> 24) & 0xFFFF);
    form.negate_a = flag(40);
    form.negate_b = flag(41);
    form.trans_a = flag(42);
    form.trans_b = flag(43);
    form.a_in_registers = flag(44);
    form.saturate = flag(45);
    form.is_sparse = flag(46);
    form.selector = static_cast<u8>((bits >> 48) & 3);
    return form;
  }
};

}  // namespace pyptx::emu
