// SPDX-License-Identifier: Apache-2.0
//
// The fragments of an instruction out of its words. How many elements a register has follows from
// the registers that the table wants. See pyptx/emu/fragments.h.
#include "pyptx/emu/fragments.h"

#include <charconv>
#include <string_view>

#include "pyptx/isa/ids.h"
#include "pyptx/isa/type.h"

namespace pyptx::emu {
namespace {

using isa::Candidate;
using isa::Modifier;
using isa::Sem;
using isa::Slot;

constexpr std::uint32_t kWarp = 32;
constexpr std::uint32_t kWarpgroup = 128;

/// The number behind `letter`: 8 of n in m16n8k16; 0 where there is none.
std::uint32_t extent(std::string_view shape, char letter) {
  const std::size_t at = shape.find(letter);
  std::uint32_t value = 0;
  if (at != std::string_view::npos) {
    std::from_chars(shape.data() + at + 1, shape.data() + shape.size(), value);
  }
  return value;
}

struct Shape {
  std::uint32_t m = 0;
  std::uint32_t n = 0;
  std::uint32_t k = 0;
};

/// From the slot, or from a word that the syntax line has.
Shape shape_of(const Candidate& form) {
  for (const auto& [slot, modifier] : form.slots) {
    const std::string_view word = isa::text(modifier);
    const Shape shape{extent(word, 'm'), extent(word, 'n'), extent(word, 'k')};
    if (word.starts_with('m') && shape.m != 0 && shape.n != 0) return shape;
  }
  return {};
}

const isa::OperandSpec* find_operand(const Candidate& form, std::string_view name) {
  for (const isa::OperandSpec& spec : form.operands) {
    if (spec.name == name && isa::has(spec.accept, isa::Accept::Vector)) return &spec;
  }
  return nullptr;
}

std::uint32_t register_bits(const isa::OperandSpec& spec) {
  return isa::info(spec.type).bits == 64 ? 64 : 32;
}

/// Bits of an element of an operand that `threads` hold together.
std::uint32_t element_bits(const isa::OperandSpec& spec, std::uint32_t threads,
                           std::uint32_t elements) {
  return spec.vector * register_bits(spec) * threads / elements;
}

struct Matrix {
  std::uint32_t rows = 0;
  std::uint32_t columns = 0;
  std::uint32_t matrices = 1;
};

OperandFragment operand(const isa::OperandSpec& spec, FragmentAxes axes, layout::Fragment fragment,
                        const Matrix& of) {
  OperandFragment one;
  one.operand = spec.name;
  one.axes = axes;
  one.fragment = fragment;
  one.register_bits = register_bits(spec);
  one.element_bits = one.register_bits / fragment.elements;
  one.rows = of.rows;
  one.columns = of.columns;
  one.matrices = of.matrices;
  return one;
}

/// mma.m8n8k4 with .f16: four products.
std::vector<OperandFragment> quads(const Candidate& form) {
  const isa::OperandSpec& d = *find_operand(form, "d");
  const isa::OperandSpec& c = *find_operand(form, "c");
  const bool a_by_rows = form.slot(Slot::Alayout) == Modifier::Row;
  const bool b_by_rows = form.slot(Slot::Blayout) == Modifier::Row;
  const auto sums = [](const isa::OperandSpec& spec) {
    return layout::mma_m8n8k4_accumulator(spec.vector == 4 ? 16 : 32);
  };
  return {
      operand(d, FragmentAxes::MN, sums(d), {8, 8, 4}),
      operand(*find_operand(form, "a"), FragmentAxes::MK, layout::mma_m8n8k4_a(a_by_rows),
              {8, 4, 4}),
      operand(*find_operand(form, "b"), FragmentAxes::KN, layout::mma_m8n8k4_b(b_by_rows),
              {4, 8, 4}),
      operand(c, FragmentAxes::MN, sums(c), {8, 8, 4}),
  };
}

std::vector<OperandFragment> mma_fragments(const Candidate& form) {
  const Shape shape = shape_of(form);
  const isa::OperandSpec* d = find_operand(form, "d");
  const isa::OperandSpec* a = find_operand(form, "a");
  const isa::OperandSpec* b = find_operand(form, "b");
  const isa::OperandSpec* c = find_operand(form, "c");
  if (d == nullptr || a == nullptr || b == nullptr || c == nullptr || shape.m == 0) return {};
  const bool is_double = register_bits(*a) == 64;
  if (shape.m == 8 && shape.k == 4 && !is_double) return quads(form);
  const std::uint32_t bits = element_bits(*b, kWarp, shape.k * shape.n);
  const std::uint32_t stored = a->vector * register_bits(*a) * kWarp / (shape.m * bits);
  const auto sums = [&](const isa::OperandSpec& spec) {
    return operand(spec, FragmentAxes::MN,
                   layout::mma_accumulator(shape.m, element_bits(spec, kWarp, shape.m * shape.n)),
                   {shape.m, shape.n});
  };
  OperandFragment of_a =
      operand(*a, FragmentAxes::MK, layout::mma_a(shape.m, stored, bits), {shape.m, stored});
  of_a.is_compressed = stored != shape.k;
  return {sums(*d), of_a,
          operand(*b, FragmentAxes::KN, layout::mma_b(shape.k, bits), {shape.k, shape.n}),
          sums(*c)};
}

std::vector<OperandFragment> wgmma_fragments(const Candidate& form) {
  const Shape shape = shape_of(form);
  const isa::OperandSpec* d = find_operand(form, "d");
  if (d == nullptr || shape.m == 0) return {};
  const std::uint32_t bits = element_bits(*d, kWarpgroup, shape.m * shape.n);
  std::vector<OperandFragment> all{
      operand(*d, FragmentAxes::MN, layout::wgmma_accumulator(shape.n, bits), {shape.m, shape.n})};
  // A is in registers, or a descriptor names it.
  if (const isa::OperandSpec* a = find_operand(form, "a")) {
    const isa::OperandSpec& k_operand = *a;
    const auto type = isa::type_of(form.slot(Slot::Atype));
    const std::uint32_t width = type ? isa::element(*type).bits : 0;
    if (width == 0) return all;
    OperandFragment of_a =
        operand(k_operand, FragmentAxes::MK, layout::wgmma_a(width), {shape.m, 256 / width});
    of_a.is_compressed = of_a.columns != shape.k;
    all.push_back(of_a);
  }
  return all;
}

/// ldmatrix and stmatrix: r.
std::vector<OperandFragment> memory_fragments(const Candidate& form) {
  const isa::OperandSpec* r = find_operand(form, "r");
  const Shape shape = shape_of(form);
  if (r == nullptr || shape.m == 0) return {};
  const std::uint32_t count = r->vector;
  if (shape.m == 8 && shape.n == 8) {
    const bool is_turned = form.slot(Slot::Trans) == Modifier::Trans;
    OperandFragment one =
        operand(*r, FragmentAxes::Memory, layout::ldmatrix_m8n8(count, is_turned), {8, 8, count});
    one.address_rows = 8;
    return {one};
  }
  if (form.form->sem == Sem::stmatrix) {  // m16n8: memory has a row for each column
    OperandFragment one =
        operand(*r, FragmentAxes::Memory, layout::stmatrix_m16n8(count), {16, 8, count});
    one.address_rows = 8;
    one.address_by_column = true;
    return {one};
  }
  const bool is_tall = shape.m == 16;
  const std::uint32_t matrices = is_tall ? count / 2 : count;
  OperandFragment one =
      operand(*r, FragmentAxes::Memory,
              is_tall ? layout::ldmatrix_m16n16(matrices) : layout::ldmatrix_m8n16(matrices),
              {shape.m, 16, matrices});
  one.address_rows = shape.m;
  return {one};
}

/// movmatrix: a matrix in one register, and its transpose.
std::vector<OperandFragment> moved_fragments(const Candidate& form) {
  std::vector<OperandFragment> all;
  for (const isa::OperandSpec& spec : form.operands) {
    const bool is_turned = spec.role != isa::Role::Source;
    all.push_back(operand(spec, FragmentAxes::MN, layout::ldmatrix_m8n8(1, is_turned), {8, 8, 1}));
  }
  return all;
}

constexpr Modifier kTensorShapes[] = {Modifier::_32x32b, Modifier::_16x64b, Modifier::_16x128b,
                                      Modifier::_16x256b, Modifier::_16x32bx2};

std::vector<OperandFragment> tensor_fragments(const Candidate& form) {
  const isa::OperandSpec* r = find_operand(form, "r");
  if (r == nullptr) return {};
  for (std::size_t i = 0; i < std::size(kTensorShapes); ++i) {
    if (form.slot(Slot::Shape) != kTensorShapes[i]) continue;
    const auto shape = static_cast<layout::TmemShape>(i);
    const std::uint32_t each = layout::tmem_fragment(shape, 1).registers;
    const layout::Fragment fragment = layout::tmem_fragment(shape, r->vector / each);
    const layout::FragmentPlace last = fragment.at(31, fragment.registers - 1);
    return {
        operand(*r, FragmentAxes::Tensor, fragment,
                {kWarpgroup, last.column + 1, shape == layout::TmemShape::S16x32bx2 ? 2U : 1U})};
  }
  return {};
}

/// wmma.load and wmma.store: r, which the table names after the matrix where its size depends on
/// it.
std::vector<OperandFragment> wmma_fragments(const Candidate& form) {
  const isa::OperandSpec* r = nullptr;
  for (const std::string_view name : {"r", "r-a", "r-b"}) {
    if (r == nullptr) r = find_operand(form, name);
  }
  const Shape shape = shape_of(form);
  if (r == nullptr || shape.m == 0) return {};
  const auto type = isa::type_of(form.slot(Slot::Type));
  const std::uint32_t bits = type ? isa::element(*type).bits : 0;
  if (bits == 0) return {};
  const Modifier matrix = form.slot(Slot::Matrix);
  if (matrix == Modifier::A) {
    return {
        operand(*r, FragmentAxes::MK, layout::wmma_a(shape.m, shape.k, bits), {shape.m, shape.k})};
  }
  if (matrix == Modifier::B) {
    return {
        operand(*r, FragmentAxes::KN, layout::wmma_b(shape.k, shape.n, bits), {shape.k, shape.n})};
  }
  return {operand(*r, FragmentAxes::MN, layout::wmma_accumulator(shape.m, shape.n, bits),
                  {shape.m, shape.n})};
}

}  // namespace

bool has_fragments(isa::Sem sem) {
  switch (sem) {
    case Sem::mma:
    case Sem::wgmma_mma:
    case Sem::ldmatrix:
    case Sem::stmatrix:
    case Sem::movmatrix:
    case Sem::tcgen05_ld:
    case Sem::tcgen05_st:
    case Sem::wmma_load:
    case Sem::wmma_store:
      return true;
    default:
      return false;
  }
}

std::vector<OperandFragment> fragments(const Candidate& form) {
  switch (form.form->sem) {
    case Sem::mma:
      return mma_fragments(form);
    case Sem::wgmma_mma:
      return wgmma_fragments(form);
    case Sem::ldmatrix:
    case Sem::stmatrix:
      return memory_fragments(form);
    case Sem::movmatrix:
      return moved_fragments(form);
    case Sem::tcgen05_ld:
    case Sem::tcgen05_st:
      return tensor_fragments(form);
    case Sem::wmma_load:
    case Sem::wmma_store:
      return wmma_fragments(form);
    default:
      return {};
  }
}

}  // namespace pyptx::emu
