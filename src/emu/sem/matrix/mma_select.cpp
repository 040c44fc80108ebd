// SPDX-License-Identifier: Apache-2.0
//
// From the words of an mma or wmma.mma to its form.
#include <array>
#include <string>

#include "decode/lowering.h"
#include "decode/select.h"
#include "numerics/sparse.h"
#include "sem/matrix/mma.h"

namespace pyptx::emu {
namespace {

struct MmaShape {
  u32 m = 0;
  u32 n = 0;
  u32 k = 0;
};

std::optional<MmaShape> take_mma_shape(Lowering& low) {
  for (const MmaShape shape :
       {MmaShape{8, 8, 4}, MmaShape{8, 8, 16}, MmaShape{8, 8, 32}, MmaShape{8, 8, 128},
        MmaShape{16, 8, 4}, MmaShape{16, 8, 8}, MmaShape{16, 8, 16}, MmaShape{16, 8, 32},
        MmaShape{16, 8, 64}, MmaShape{16, 8, 128}, MmaShape{16, 8, 256}, MmaShape{16, 16, 16},
        MmaShape{16, 16, 8}, MmaShape{8, 32, 16}, MmaShape{32, 8, 16}}) {
    if (low.take("m" + std::to_string(shape.m) + "n" + std::to_string(shape.n) + "k" +
                 std::to_string(shape.k))) {
      return shape;
    }
  }
  return std::nullopt;
}

Accumulator take_accumulator(Lowering& low) {
  const std::string_view name = low.take_next({"f16", "f32", "s32", "f64"});
  if (name == "f16") return Accumulator::F16;
  if (name == "s32") return Accumulator::S32;
  return name == "f64" ? Accumulator::F64 : Accumulator::F32;
}

Element take_mma_element(Lowering& low) {
  return find_element(low.take_next({"f16", "bf16", "tf32", "e4m3", "e5m2", "e2m3", "e3m2", "e2m1",
                                     "s8", "u8", "s4", "u4", "b1", "f64"}));
}

u32 registers_of(Accumulator accumulator, u32 rows) {
  return accumulator == Accumulator::F16 ? rows / 8 : rows / 4;
}

void set_shape(MmaForm& form, const MmaShape& shape) {
  form.rows = shape.m == 8 ? 8 : 16;
  form.row_blocks = shape.m / form.rows;
  form.column_blocks = shape.n / 8;
  form.depth = shape.k;
  // Operands fill 32-bit registers, or 64-bit ones with f64.
  const u32 bits = form.a == Element::F64 ? 2048 : 1024;
  form.a_registers = form.rows * form.stored() * info(form.a).bits / bits;
  form.b_registers = 8 * form.depth * info(form.b).bits / bits;
  form.c_registers = registers_of(form.c, form.rows);
  form.d_registers = registers_of(form.d, form.rows);
}

/// Adds the registers of one operand; false where it is no vector of that many.
bool add_operand(Lowering& low, std::size_t at, Ty type, bool is_dest, u32 count,
                 std::vector<u32>& list) {
  const ir::Operand& operand = low.operand(at);
  if (operand.kind != ir::OperandKind::Vector) {
    low.refuse("an operand is not a vector of registers");
    return false;
  }
  const auto children = low.children(operand);
  if (children.size() < count) {
    low.refuse("an operand has another number of registers");
    return false;
  }
  for (const ir::Operand& one : children) {
    list.push_back(is_dest ? low.dest(one, type) : low.source(one, type));
  }
  return true;
}

Ty type_of(Accumulator accumulator) {
  switch (accumulator) {
    case Accumulator::F32:
      return Ty::F32;
    case Accumulator::F16:
      return Ty::F16x2;
    case Accumulator::S32:
      return Ty::S32;
    case Accumulator::F64:
      return Ty::F64;
  }
  return Ty::None;
}

bool add_operands(Lowering& low, MmaForm& form) {
  const u32 blocks = form.row_blocks * form.column_blocks;
  const Ty word = form.a == Element::F64 ? Ty::F64 : Ty::B32;
  std::vector<u32> list;
  if (!add_operand(low, 0, type_of(form.d), true, blocks * form.d_registers, list)) return false;
  form.a_first = static_cast<u32>(list.size());
  if (!add_operand(low, 1, word, false, form.row_blocks * form.a_registers, list)) return false;
  form.b_first = static_cast<u32>(list.size());
  if (!add_operand(low, 2, word, false, form.column_blocks * form.b_registers, list)) return false;
  form.c_first = static_cast<u32>(list.size());
  if (!add_operand(low, 3, type_of(form.c), false, blocks * form.c_registers, list)) return false;
  low.set_list(list);
  return true;
}

Handler handler_of(const MmaForm& form, const MmaShape& shape) {
  if (form.a == Element::F64) return &run_mma_double;
  if (form.a == Element::B1) return &run_mma_bits;
  if (shape.m == 8 && shape.k == 4) return &run_mma_quads;
  if (form.scale.count != 0) return &run_mma_scaled;
  return form.sparsity.is_sparse ? &run_mma_sparse : &run_mma;
}

/// m8n8k4 of .f16 has four products, whose fragments are its own.
void set_quads(MmaForm& form) {
  form.a_registers = form.b_registers = 2;
  form.c_registers = form.c == Accumulator::F16 ? 4 : 8;
  form.d_registers = form.d == Accumulator::F16 ? 4 : 8;
}

/// The operands behind C: metadata and selector of a sparse A, then scales and their selectors.
bool add_extras(Lowering& low, MmaForm& form) {
  std::size_t at = 4;
  if (form.sparsity.is_sparse) {
    form.sparsity.metadata = low.source(at++, Ty::B32);
    const std::optional<i64> selector =
        at < low.count() ? low.literal(low.operand(at)) : std::nullopt;
    if (!selector) {
      low.refuse("its sparsity selector is not a literal");
      return false;
    }
    const SparsePattern pattern{form.a, form.stored(), static_cast<u32>(*selector), false};
    if (*selector < 0 || *selector > 3 || !has_metadata(pattern)) {
      low.refuse("its sparsity selector names threads that a quad does not have");
      return false;
    }
    form.sparsity.selector = static_cast<u8>(*selector);
    ++at;
  }
  if (form.scale.count == 0) return true;
  const auto pair = [&](const ir::Operand& operand, u32(&to)[2]) {
    const auto parts = low.children(operand);
    if (operand.kind != ir::OperandKind::Vector || parts.size() != 2) return false;
    to[0] = low.source(parts[0], Ty::U16);
    to[1] = low.source(parts[1], Ty::U16);
    return true;
  };
  form.scale.a = low.source(at, Ty::B32);
  form.scale.b = low.source(at + 2, Ty::B32);
  if (pair(low.operand(at + 1), form.scale.select_a) &&
      pair(low.operand(at + 3), form.scale.select_b)) {
    return true;
  }
  low.refuse("a selector of scales is not a pair");
  return false;
}

/// .kind and what belongs to it. Only .mxf4 and .mxf4nvf4 have elements of four bits side by side.
void take_kind(Lowering& low, MmaForm& form, bool& is_packed) {
  low.ignore({"kind::f8f6f4"});
  const std::string_view kind = low.take_any({"kind::mxf8f6f4", "kind::mxf4nvf4", "kind::mxf4"});
  is_packed = kind.starts_with("kind::mxf4");
  if (!low.take("block_scale")) return;
  const std::string_view vector = low.take_any({"scale_vec::1X", "scale_vec::2X", "scale_vec::4X"});
  const u32 otherwise = is_packed ? 2 : 1;
  form.scale.count =
      static_cast<u8>(vector.empty() ? otherwise : static_cast<u32>(vector[11] - '0'));
  form.scale.is_ue4m3 = low.take_any({"ue8m0", "ue4m3"}) == "ue4m3";
}

Handler finish(Lowering& low, MmaForm form, const MmaShape& shape) {
  set_shape(form, shape);
  const bool is_quads = shape.m == 8 && shape.k == 4 && form.a != Element::F64;
  if (is_quads) set_quads(form);
  if (!add_operands(low, form) || !add_extras(low, form)) return nullptr;
  low.out.target = static_cast<u32>(low.program().mma_forms.size());
  low.program().mma_forms.push_back(std::make_shared<const MmaForm>(form));
  return handler_of(form, shape);
}

}  // namespace

Handler select_mma(Lowering& low) {
  low.ignore({"sync", "aligned"});
  const std::optional<MmaShape> shape = take_mma_shape(low);
  if (!shape) return nullptr;
  MmaForm form;
  form.a_by_rows = low.take_next({"row", "col"}) == "row";
  form.b_by_rows = low.take_next({"row", "col"}) == "row";
  form.saturate = low.take("satfinite");
  form.sparsity.is_ordered = low.take("sp::ordered_metadata");
  form.sparsity.is_sparse = form.sparsity.is_ordered || low.take("sp");
  bool is_packed = false;
  take_kind(low, form, is_packed);
  form.d = take_accumulator(low);
  form.a = take_mma_element(low);
  form.b = take_mma_element(low);
  form.c = take_accumulator(low);
  if (is_packed) form.a = form.b = Element::PackedE2M1;
  if (form.a == Element::F64) form.round = low.take_rounding(Round::Nearest);
  if (form.a == Element::B1) {
    form.is_xor = low.take_any({"xor", "and"}) == "xor";
    low.take("popc");
  }
  return finish(low, form, *shape);
}

Handler select_wmma_mma(Lowering& low) {
  low.ignore({"sync", "aligned", "mma"});
  MmaForm form;
  form.is_wmma = true;
  const std::string_view bitop = low.take_any({"xor", "and"});
  form.is_xor = bitop == "xor";
  if (!bitop.empty()) low.take("popc");
  // Fragments are the same for both layouts: wmma.load has put the elements into place.
  low.take_next({"row", "col"});
  low.take_next({"row", "col"});
  const std::optional<MmaShape> shape = take_mma_shape(low);
  if (!shape) return nullptr;
  form.round = low.take_rounding(Round::Nearest);
  form.d = take_accumulator(low);
  const bool has_types = low.has("s32") || low.has("bf16") || low.has("tf32") || low.has("f64");
  form.a = has_types ? take_mma_element(low) : Element::F16;
  form.b = has_types ? take_mma_element(low) : Element::F16;
  form.c = take_accumulator(low);
  if (info(form.a).is_integer) form.saturate = low.take("satfinite");
  return finish(low, form, *shape);
}

}  // namespace pyptx::emu
