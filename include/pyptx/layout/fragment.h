// SPDX-License-Identifier: Apache-2.0
//
// Fragments: which element of a matrix each register of each thread holds. Every fragment of mma,
// ldmatrix, wgmma and tcgen05.ld is linear in the bits of thread, register and element number, so
// one is a table with a step for each bit, and its inverse needs no code of its own.
// PTX ISA, "Matrix Fragments" under each instruction.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

namespace pyptx::layout {

/// A place in a matrix. `matrix` counts where one instruction has several (ldmatrix.x4, the four
/// products of mma.m8n8k4, the two halves of tcgen05.ld.16x32bx2).
struct FragmentPlace {
  std::uint32_t row = 0;
  std::uint32_t column = 0;
  std::uint32_t matrix = 0;
  bool operator==(const FragmentPlace&) const = default;
};

/// Who holds an element: thread of the warp or warpgroup, register, element inside the register.
struct FragmentOwner {
  std::uint32_t thread = 0;
  std::uint32_t reg = 0;
  std::uint32_t element = 0;
  bool operator==(const FragmentOwner&) const = default;
};

/// How a matrix lies in the registers of a warp or a warpgroup.
struct Fragment {
  std::uint32_t threads = 32;   // 128 for a warpgroup
  std::uint32_t registers = 0;  // of one thread
  std::uint32_t elements = 1;   // of one register, the lowest bits first
  // The step that each bit of a number makes.
  std::array<FragmentPlace, 7> thread_bit{};
  std::array<FragmentPlace, 7> register_bit{};
  std::array<FragmentPlace, 5> element_bit{};

  FragmentPlace at(std::uint32_t thread, std::uint32_t reg, std::uint32_t element = 0) const;
  /// The first one that holds `place`; nothing where nobody does. Searches: for tables and tests.
  std::optional<FragmentOwner> owner(const FragmentPlace& place) const;
};

/// A of mma.m16n8k* and m8n8k* (`m` 16 or 8): m x k elements of `bits`, which 4- and 6-bit floats
/// have in 8-bit containers. With sparse A, `k` counts the elements that are stored.
Fragment mma_a(std::uint32_t m, std::uint32_t k, std::uint32_t bits);
/// B of the same: place.row is k, place.column is n (0 to 7).
Fragment mma_b(std::uint32_t k, std::uint32_t bits);
/// C and D of the same, 16, 32 or 64 bits an element.
Fragment mma_accumulator(std::uint32_t m, std::uint32_t bits);

/// mma.m8n8k4 with .f16 A and B: four products at once, each of a quarter of the warp.
Fragment mma_m8n8k4_a(bool row_major);
Fragment mma_m8n8k4_b(bool row_major);
Fragment mma_m8n8k4_accumulator(std::uint32_t bits);

/// Where a thread has some bits: of metadata, or of scales.
struct BitsPlace {
  std::uint32_t thread = 0;
  std::uint32_t bit = 0;
};
/// The four bits of the metadata of mma.sp that say which places of chunk `chunk` of row `row` are
/// stored. `bits` is an element's, `stored` counts the elements of a row that are, `selector` says
/// which threads of a quad have the metadata.
BitsPlace mma_metadata(std::uint32_t bits, std::uint32_t stored, std::uint32_t selector,
                       std::uint32_t row, std::uint32_t chunk);
/// Threads of a quad that have the metadata of one selector.
std::uint32_t mma_metadata_threads(std::uint32_t bits, std::uint32_t stored);
/// Elements of a chunk that are stored, of twice as many.
constexpr std::uint32_t mma_chunk(std::uint32_t bits) { return bits == 32 ? 1 : bits == 4 ? 4 : 2; }

/// The byte of the scale `index` along K of row `row` of A or of column `column` of B, in mma with
/// block scales; `byte` and `selected` are the instruction's selectors.
constexpr BitsPlace mma_scale_a(std::uint32_t row, std::uint32_t index, std::uint32_t byte,
                                std::uint32_t selected) {
  // The even thread of the pair has row g, the odd one row g + 8.
  return {4 * (row % 8) + 2 * selected + row / 8, 8 * (byte + index)};
}
constexpr BitsPlace mma_scale_b(std::uint32_t column, std::uint32_t index, std::uint32_t byte,
                                std::uint32_t selected) {
  return {4 * column + selected, 8 * (byte + index)};
}

/// ldmatrix and stmatrix of `matrices` 8x8 matrices of 16-bit elements; rows are those of memory.
Fragment ldmatrix_m8n8(std::uint32_t matrices, bool trans);
/// ldmatrix.m16n16.trans of 8-bit elements, and .m8n16 of narrower ones widened to 8 bits.
Fragment ldmatrix_m16n16(std::uint32_t matrices);
Fragment ldmatrix_m8n16(std::uint32_t matrices);
/// stmatrix.m16n8.trans of 8-bit elements: rows are those of the matrix, columns those of memory.
Fragment stmatrix_m16n8(std::uint32_t matrices);
/// The thread whose address ldmatrix.m8n8 and stmatrix.m8n8 read a row from.
constexpr std::uint32_t ldmatrix_address_lane(std::uint32_t matrix, std::uint32_t row) {
  return 8 * matrix + row;
}

/// The fragments of wmma, which the manual leaves open: those of mma side by side, so that wmma is
/// several mma. `registers` counts those that differ; an .f16 A or B repeats them up to eight.
Fragment wmma_a(std::uint32_t m, std::uint32_t k, std::uint32_t bits);
Fragment wmma_b(std::uint32_t k, std::uint32_t n, std::uint32_t bits);
Fragment wmma_accumulator(std::uint32_t m, std::uint32_t n, std::uint32_t bits);

/// D of wgmma.m64nNk*, 16 or 32 bits an element, and A in registers.
Fragment wgmma_accumulator(std::uint32_t n, std::uint32_t bits);
Fragment wgmma_a(std::uint32_t bits);

/// The shapes of tcgen05.ld and tcgen05.st.
enum class TmemShape : std::uint8_t { S32x32b, S16x64b, S16x128b, S16x256b, S16x32bx2 };
/// place.row is the lane of tensor memory (thread bits 5 and 6 are the warp in its warpgroup),
/// place.column the 32-bit column from the address on; the second half of 16x32bx2 is matrix 1.
Fragment tmem_fragment(TmemShape shape, std::uint32_t repeats);

}  // namespace pyptx::layout
