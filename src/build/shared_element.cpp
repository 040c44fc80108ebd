// SPDX-License-Identifier: Apache-2.0
//
// Elements of shared allocations: their offsets (computed while tracing where the indices are
// constants, by instructions where they are registers), the swizzle on them, loads and stores.
// PTX ISA, "Swizzling Modes".
#include <bit>
#include <string>

#include "pyptx/build/shared.h"
#include "pyptx/layout/stored_tile.h"
#include "pyptx/support/concat.h"

namespace pyptx::build {
namespace {

using diag::Kind;
using ir::Operand;
using layout::Swizzle;

std::uint32_t swizzle_mask(Swizzle swizzle) {
  return ((1U << static_cast<std::uint32_t>(swizzle)) - 1U) << 4;
}

/// a * factor + b, folded as far as the constants allow.
Index scaled_sum(Tracer& tracer, const Index& a, std::int64_t factor, const Index& b) {
  if (a.is_constant() && b.is_constant()) return a.value * factor + b.value;
  if (a.is_constant() && a.value == 0) return b;
  if (factor == 1 && b.is_constant() && b.value == 0) return a;
  const Reg sum = tracer.reg(isa::Type::U32);
  if (a.is_constant()) {
    tracer.emit("add.u32", {sum, *b.reg, Operand::integer(a.value * factor)});
  } else if (factor == 1) {
    tracer.emit("add.u32", {sum, *a.reg, b.operand()});
  } else {
    tracer.emit("mad.lo.u32", {sum, *a.reg, Operand::integer(factor), b.operand()});
  }
  return sum;
}

/// The offset of byte `byte` of row `row`, the row being cut into blocks of one swizzle row.
Index blocked_offset(Tracer& tracer, const SharedView& view, const Index& row, const Index& byte) {
  if (row.is_constant() && byte.is_constant()) {
    const layout::StoredTile stored{view.swizzle, view.rows(),
                                    view.columns() * view.element_bytes(), true};
    return static_cast<std::int64_t>(stored.linear(static_cast<std::uint64_t>(row.value),
                                                   static_cast<std::uint64_t>(byte.value)));
  }
  const std::uint32_t span = layout::swizzle_span(view.swizzle);
  const auto block_bytes = static_cast<std::int64_t>(view.rows()) * span;
  const bool is_one_block = view.columns() * view.element_bytes() == span;
  if (is_one_block) return scaled_sum(tracer, row, span, byte);
  if (byte.is_constant()) {
    return scaled_sum(tracer, row, span, byte.value / span * block_bytes + byte.value % span);
  }
  const Reg block = tracer.reg(isa::Type::U32);
  const Reg within = tracer.reg(isa::Type::U32);
  tracer.emit("shr.u32", {block, *byte.reg, Operand::integer(std::countr_zero(span))});
  tracer.emit("and.b32", {within, *byte.reg, Operand::integer(span - 1)});
  return scaled_sum(tracer, block, block_bytes, scaled_sum(tracer, row, span, within));
}

bool check_indices(Tracer& tracer, const SharedView& view, std::span<const Index> indices) {
  if (indices.size() != view.shape.size()) {
    tracer.report(diag::Diagnostic(Kind::SharedRank, {view.name, std::to_string(view.shape.size()),
                                                      std::to_string(indices.size())})
                      .about("key"));
    return false;
  }
  for (std::size_t i = 0; i < indices.size(); ++i) {
    const Index& index = indices[i];
    if (!check_word(tracer, index,
                    {support::concat("index ", i, " of '", view.name, "'"), "key",
                     static_cast<std::uint16_t>(i)})) {
      return false;
    }
    if (index.is_constant() &&
        (index.value < 0 || static_cast<std::uint64_t>(index.value) >= view.shape[i])) {
      tracer.report(diag::Diagnostic(Kind::SharedIndex, {std::to_string(i), view.name,
                                                         std::to_string(view.shape[i] - 1),
                                                         std::to_string(index.value)})
                        .about("key", static_cast<std::uint16_t>(i)));
      return false;
    }
  }
  return true;
}

/// The type that ld and st take for an element, and the type of the register that holds it.
struct MemoryType {
  isa::Type access;
  isa::Type reg;
};
MemoryType memory_type(isa::Type type) {
  const isa::TypeInfo& facts = isa::info(type);
  switch (facts.bits) {
    case 8:
      return {isa::Type::B8, facts.kind == isa::TypeKind::Signed ? isa::Type::S16 : isa::Type::U16};
    case 16:
      return {isa::Type::B16, type};
    case 32:
      return {type == isa::Type::F32 ? type : isa::Type::B32, type};
    case 64:
      return {type == isa::Type::F64 ? type : isa::Type::B64, type};
    default:
      return {isa::Type::B128, type};
  }
}

/// ".u8" and ".s8" extend differently, so the 8-bit integers keep their own access type.
isa::Type shared_access_type(isa::Type type) {
  return type == isa::Type::S8 || type == isa::Type::U8 ? type : memory_type(type).access;
}

}  // namespace

Index apply_swizzle(Tracer& tracer, Swizzle swizzle, const Index& offset) {
  const Expansion here(tracer, "smem.apply_swizzle(...)");
  if (swizzle == Swizzle::None) return offset;
  if (offset.is_constant()) {
    return layout::apply_swizzle(swizzle, static_cast<std::uint32_t>(offset.value));
  }
  if (!check_word(tracer, offset, {"the offset", "offset"})) return offset;
  const Reg line = tracer.reg(isa::Type::U32);
  const Reg bits = tracer.reg(isa::Type::U32);
  const Reg result = tracer.reg(isa::Type::U32);
  tracer.emit("shr.u32", {line, *offset.reg, Operand::integer(3)});
  tracer.emit("and.b32", {bits, line, Operand::integer(swizzle_mask(swizzle))});
  tracer.emit("xor.b32", {result, *offset.reg, bits});
  return result;
}

SharedPlace element(Tracer& tracer, const SharedView& view, std::span<const Index> indices) {
  if (!check_indices(tracer, view, indices)) return view.place;
  const std::size_t rank = indices.size();
  SharedView tile = view;
  if (rank > 2) tile = slice(tracer, view, indices.first(rank - 2));
  const std::int64_t size = tile.element_bytes();
  const Index column = rank == 0 ? Index(0) : indices.back();
  const Index row = rank < 2 ? Index(0) : indices[rank - 2];
  if (tile.swizzle == Swizzle::None && !tile.major) {
    const auto pitch = static_cast<std::int64_t>(tile.columns()) * size;
    const SharedPlace at = advanced(tracer, tile.place, row, pitch);
    return advanced(tracer, at, column, size);
  }
  const Index byte = scaled_sum(tracer, column, size, 0);
  const Index linear = blocked_offset(tracer, tile, row, byte);
  return advanced(tracer, tile.place, apply_swizzle(tracer, tile.swizzle, linear), 1);
}

Reg load_shared(Tracer& tracer, isa::Type type, const SharedPlace& place, Guard guard) {
  const Reg result = tracer.reg(memory_type(type).reg);
  tracer.emit(support::concat("ld.shared.", isa::info(shared_access_type(type)).name),
              {result, memory_at(tracer, place)}, guard);
  return result;
}

void store_shared(Tracer& tracer, isa::Type type, const SharedPlace& place, ir::Operand value,
                  Guard guard) {
  tracer.emit(support::concat("st.shared.", isa::info(shared_access_type(type)).name),
              {memory_at(tracer, place), value}, guard);
}

Reg load_element(Tracer& tracer, const SharedView& view, std::span<const Index> indices,
                 Guard guard) {
  const Expansion here(tracer, "smem[...]");
  const SharedPlace place = element(tracer, view, indices);
  if (tracer.has_error()) return {};
  return load_shared(tracer, view.type, place, guard);
}

void store_element(Tracer& tracer, const SharedView& view, std::span<const Index> indices,
                   ir::Operand value, Guard guard) {
  const Expansion here(tracer, "smem[...] = ...");
  const SharedPlace place = element(tracer, view, indices);
  if (tracer.has_error()) return;
  store_shared(tracer, view.type, place, value, guard);
}

}  // namespace pyptx::build
