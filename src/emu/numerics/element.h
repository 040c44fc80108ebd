// SPDX-License-Identifier: Apache-2.0
//
// The element types of matrix operands, as the matrix instructions name them: how wide they are in
// a register, and the least exponent that a tensor core gives one of them. What their bits mean is
// decode.inc's.
#pragma once

#include <string_view>

#include "decode/program.h"

namespace pyptx::emu {

enum class Element : u8 {
  None,
  F16,
  BF16,
  TF32,
  E4M3,
  E5M2,
  E2M3,        // in the low bits of a byte
  E3M2,        // in the low bits of a byte
  E2M1,        // in bits 2 to 5 of a byte
  PackedE2M1,  // two in a byte
  S8,
  U8,
  S4,
  U4,
  B1,
  F64,
};

struct ElementInfo {
  std::string_view name;
  u8 bits = 0;  // in a register or in memory
  i16 least_exponent = 0;
  bool is_integer = false;
};

const ElementInfo& info(Element element);
/// The element of this PTX name, with the narrow formats in bytes; None for any other word.
Element find_element(std::string_view name);

}  // namespace pyptx::emu
