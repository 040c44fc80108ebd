// SPDX-License-Identifier: Apache-2.0
//
// The tables of fragment.h. Most instructions give a row to a group of four lanes: `spread` says
// that once. PTX ISA, "Matrix Fragments for mma.m16n8k16" and its like, "ldmatrix",
// "Register Fragments", "Matrix fragments for shape .32x32b" and its like.
#include "pyptx/layout/fragment.h"

#include <bit>
#include <span>

namespace pyptx::layout {
namespace {

constexpr FragmentPlace down(std::uint32_t rows) { return {rows, 0, 0}; }
constexpr FragmentPlace right(std::uint32_t columns) { return {0, columns, 0}; }
constexpr FragmentPlace next(std::uint32_t matrices) { return {0, 0, matrices}; }

/// steps[i], steps[i + 1], ... = step, 2 * step, 4 * step, ... up to `count` in all.
void doubling(std::span<FragmentPlace> steps, std::size_t first, FragmentPlace step,
              std::uint32_t count) {
  std::uint32_t factor = 1;
  for (std::size_t i = first; factor < count && i < steps.size(); ++i, factor *= 2) {
    steps[i] = {factor * step.row, factor * step.column, factor * step.matrix};
  }
}

/// Eight groups of four lanes: a row to each group, `width` columns to each lane of it; the columns
/// of one lane are the elements of its registers.
Fragment spread(std::uint32_t width) {
  Fragment f;
  f.thread_bit = {right(width), right(2 * width), down(1), down(2), down(4), {}, {}};
  return f;
}

/// The lanes of m8n8k4: 0-3 and 16-19 make the first product, 4-7 and 20-23 the second, ...
Fragment quad_pairs(FragmentPlace step, FragmentPlace upper) {
  Fragment f;
  doubling(f.thread_bit, 0, step, 4);
  f.thread_bit[2] = next(1);
  f.thread_bit[3] = next(2);
  f.thread_bit[4] = upper;
  return f;
}

Fragment transposed(Fragment f) {
  const auto turn = [](auto& steps) {
    for (FragmentPlace& step : steps) step = {step.column, step.row, step.matrix};
  };
  turn(f.thread_bit);
  turn(f.register_bit);
  turn(f.element_bit);
  return f;
}

Fragment of_warpgroup(Fragment f, std::uint32_t rows) {
  f.threads = 128;
  f.thread_bit[5] = down(rows);
  f.thread_bit[6] = down(2 * rows);
  return f;
}

/// `count` fragments side by side: the registers of one, then those of the next.
Fragment repeated(Fragment f, FragmentPlace step, std::uint32_t count) {
  doubling(f.register_bit, static_cast<std::size_t>(std::bit_width(f.registers) - 1), step, count);
  f.registers *= count;
  return f;
}

void add(FragmentPlace& sum, std::span<const FragmentPlace> steps, std::uint32_t number) {
  for (const FragmentPlace& step : steps) {
    if ((number & 1U) != 0) {
      sum = {sum.row + step.row, sum.column + step.column, sum.matrix + step.matrix};
    }
    number >>= 1;
  }
}

}  // namespace

FragmentPlace Fragment::at(std::uint32_t thread, std::uint32_t reg, std::uint32_t element) const {
  FragmentPlace sum;
  add(sum, thread_bit, thread);
  add(sum, register_bit, reg);
  add(sum, element_bit, element);
  return sum;
}

std::optional<FragmentOwner> Fragment::owner(const FragmentPlace& place) const {
  for (std::uint32_t thread = 0; thread < threads; ++thread) {
    for (std::uint32_t reg = 0; reg < registers; ++reg) {
      for (std::uint32_t element = 0; element < elements; ++element) {
        if (at(thread, reg, element) == place) return FragmentOwner{thread, reg, element};
      }
    }
  }
  return std::nullopt;
}

Fragment mma_a(std::uint32_t m, std::uint32_t k, std::uint32_t bits) {
  const std::uint32_t packed = bits < 32 ? 32 / bits : 1;
  Fragment f = spread(packed);
  const std::uint32_t blocks = k / (4 * packed);
  f.registers = m / 8 * blocks;
  f.elements = packed;
  doubling(f.element_bit, 0, right(1), packed);
  const bool has_two_rows = m == 16;
  if (has_two_rows) f.register_bit[0] = down(8);
  doubling(f.register_bit, has_two_rows ? 1 : 0, right(4 * packed), blocks);
  return f;
}

Fragment mma_b(std::uint32_t k, std::uint32_t bits) { return transposed(mma_a(8, k, bits)); }

Fragment mma_accumulator(std::uint32_t m, std::uint32_t bits) {
  Fragment f = spread(2);
  const bool is_packed = bits == 16;
  f.elements = is_packed ? 2 : 1;
  f.registers = m / 4 / f.elements;
  (is_packed ? f.element_bit[0] : f.register_bit[0]) = right(1);
  if (m == 16) f.register_bit[is_packed ? 0 : 1] = down(8);
  return f;
}

Fragment mma_m8n8k4_a(bool row_major) {
  Fragment f = quad_pairs(row_major ? down(1) : right(1), down(4));
  f.registers = 2;
  f.elements = 2;
  f.element_bit[0] = row_major ? right(1) : down(1);
  f.register_bit[0] = row_major ? right(2) : down(2);
  return f;
}

Fragment mma_m8n8k4_b(bool row_major) { return transposed(mma_m8n8k4_a(!row_major)); }

Fragment mma_m8n8k4_accumulator(std::uint32_t bits) {
  Fragment f = quad_pairs(down(1), down(4));
  if (bits == 16) {
    f.registers = 4;
    f.elements = 2;
    f.element_bit[0] = right(1);
    doubling(f.register_bit, 0, right(2), 4);
    return f;
  }
  f.registers = 8;
  f.thread_bit[1] = right(2);
  f.register_bit = {right(1), down(2), right(4)};
  return f;
}

std::uint32_t mma_metadata_threads(std::uint32_t bits, std::uint32_t stored) {
  return stored * bits / (bits >= 16 ? 128 : 64);
}

BitsPlace mma_metadata(std::uint32_t bits, std::uint32_t stored, std::uint32_t selector,
                       std::uint32_t row, std::uint32_t chunk) {
  // A row has 16 bits for every four chunks. With 16-bit and wider elements a thread of a quad has
  // those of rows g and g + 8, and the next thread those of the next four chunks; with narrower
  // ones a thread has two times 16 bits of one row, and the next thread those of row g + 8.
  const std::uint32_t half = row / 8;
  const std::uint32_t first = 4 * (row % 8) + selector * mma_metadata_threads(bits, stored);
  if (bits >= 16) return {first + chunk / 4, 16 * half + chunk % 4 * 4};
  return {first + chunk / 8 * 2 + half, chunk % 8 * 4};
}

Fragment ldmatrix_m8n8(std::uint32_t matrices, bool trans) {
  Fragment f = spread(2);
  f.registers = matrices;
  f.elements = 2;
  f.element_bit[0] = right(1);
  doubling(f.register_bit, 0, next(1), matrices);
  return trans ? transposed(f) : f;
}

Fragment ldmatrix_m16n16(std::uint32_t matrices) {
  Fragment f = spread(4);
  f.registers = 2 * matrices;
  f.elements = 4;
  doubling(f.element_bit, 0, right(1), 4);
  f.register_bit[0] = down(8);
  doubling(f.register_bit, 1, next(1), matrices);
  return transposed(f);
}

Fragment ldmatrix_m8n16(std::uint32_t matrices) {
  Fragment f = spread(4);
  f.registers = matrices;
  f.elements = 4;
  doubling(f.element_bit, 0, right(1), 4);
  doubling(f.register_bit, 0, next(1), matrices);
  return f;
}

Fragment stmatrix_m16n8(std::uint32_t matrices) {
  Fragment f = spread(2);
  f.registers = matrices;
  f.elements = 4;
  f.element_bit = {right(1), down(8)};
  doubling(f.register_bit, 0, next(1), matrices);
  return f;
}

Fragment wmma_a(std::uint32_t m, std::uint32_t k, std::uint32_t bits) {
  return m <= 16 ? mma_a(m, k, bits) : repeated(mma_a(16, k, bits), down(16), m / 16);
}

Fragment wmma_b(std::uint32_t k, std::uint32_t n, std::uint32_t bits) {
  return repeated(mma_b(k, bits), right(8), n / 8);
}

Fragment wmma_accumulator(std::uint32_t m, std::uint32_t n, std::uint32_t bits) {
  if (m > 16) return repeated(mma_accumulator(16, bits), down(16), m / 16);
  return repeated(mma_accumulator(m, bits), right(8), n / 8);
}

Fragment wgmma_accumulator(std::uint32_t n, std::uint32_t bits) {
  Fragment f = of_warpgroup(mma_accumulator(16, bits), 16);
  f.registers = n / 2 / f.elements;
  // n need not be a power of two: the bits of the highest register number that there can be.
  doubling(f.register_bit, bits == 16 ? 1 : 2, right(8), 32);
  return f;
}

Fragment wgmma_a(std::uint32_t bits) { return of_warpgroup(mma_a(16, 256 / bits, bits), 16); }

Fragment tmem_fragment(TmemShape shape, std::uint32_t repeats) {
  Fragment f;
  f.registers = repeats;
  switch (shape) {
    case TmemShape::S32x32b:
      doubling(f.thread_bit, 0, down(1), 32);
      doubling(f.register_bit, 0, right(1), repeats);
      break;
    case TmemShape::S16x64b:
      f.thread_bit = {down(8), right(1), down(1), down(2), down(4), {}, {}};
      doubling(f.register_bit, 0, right(2), repeats);
      break;
    case TmemShape::S16x128b:
      f = spread(1);
      f.registers = 2 * repeats;
      f.register_bit[0] = down(8);
      doubling(f.register_bit, 1, right(4), repeats);
      break;
    case TmemShape::S16x256b:
      f = mma_accumulator(16, 32);
      f.registers = 4 * repeats;
      doubling(f.register_bit, 2, right(8), repeats);
      break;
    case TmemShape::S16x32bx2:
      doubling(f.thread_bit, 0, down(1), 16);
      f.thread_bit[4] = next(1);
      doubling(f.register_bit, 0, right(1), repeats);
      break;
  }
  return of_warpgroup(f, 32);
}

}  // namespace pyptx::layout
