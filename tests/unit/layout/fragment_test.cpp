// SPDX-License-Identifier: Apache-2.0
//
// Fragments against the manual's formulas, written out by hand, and as bijections: every element of
// every matrix is held exactly once.
#include "pyptx/layout/fragment.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <string>
#include <tuple>
#include <vector>

namespace pyptx::layout {
namespace {

using Seen = std::set<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>>;

/// Every place of `rows` x `columns` x `matrices` is held, each by one owner.
void expect_bijection(const Fragment& f, std::uint32_t rows, std::uint32_t columns,
                      std::uint32_t matrices, const std::string& what) {
  Seen seen;
  for (std::uint32_t thread = 0; thread < f.threads; ++thread) {
    for (std::uint32_t reg = 0; reg < f.registers; ++reg) {
      for (std::uint32_t e = 0; e < f.elements; ++e) {
        const FragmentPlace at = f.at(thread, reg, e);
        EXPECT_LT(at.row, rows) << what;
        EXPECT_LT(at.column, columns) << what;
        EXPECT_LT(at.matrix, matrices) << what;
        EXPECT_TRUE(seen.emplace(at.row, at.column, at.matrix).second) << what;
      }
    }
  }
  EXPECT_EQ(seen.size(), std::size_t{rows} * columns * matrices) << what;
}

TEST(Fragment, mma_operands_hold_each_element_once) {
  struct Shape {
    std::uint32_t m, k, bits;
  };
  const std::vector<Shape> shapes{
      {16, 8, 16}, {16, 16, 16}, {16, 4, 32}, {16, 8, 32},  {8, 4, 64},  {16, 4, 64},
      {16, 8, 64}, {16, 16, 64}, {8, 16, 8},  {16, 16, 8},  {16, 32, 8}, {8, 32, 4},
      {16, 32, 4}, {16, 64, 4},  {8, 128, 1}, {16, 128, 1}, {16, 256, 1}};
  for (const auto& [m, k, bits] : shapes) {
    const std::string what =
        "m" + std::to_string(m) + "k" + std::to_string(k) + " of " + std::to_string(bits) + " bits";
    expect_bijection(mma_a(m, k, bits), m, k, 1, "A " + what);
    expect_bijection(mma_b(k, bits), k, 8, 1, "B " + what);
    // A warp holds m * k * bits / 1024 registers of 32 bits.
    const std::uint32_t size = bits == 64 ? 64 : 32;
    EXPECT_EQ(mma_a(m, k, bits).registers, m * k * bits / 32 / size) << what;
  }
  for (const std::uint32_t m : {8U, 16U}) {
    for (const std::uint32_t bits : {16U, 32U, 64U}) {
      expect_bijection(mma_accumulator(m, bits), m, 8, 1, "D");
    }
  }
}

TEST(Fragment, mma_m16n8k16_is_the_manuals) {
  const Fragment a = mma_a(16, 16, 16);
  const Fragment b = mma_b(16, 16);
  const Fragment c = mma_accumulator(16, 32);
  for (std::uint32_t lane = 0; lane < 32; ++lane) {
    const std::uint32_t group = lane >> 2;
    const std::uint32_t in_group = lane % 4;
    for (std::uint32_t i = 0; i < 8; ++i) {
      const bool is_upper = i < 2 || (i >= 4 && i < 6);
      const FragmentPlace expected{is_upper ? group : group + 8,
                                   in_group * 2 + (i & 1U) + (i >= 4 ? 8U : 0U)};
      EXPECT_EQ(a.at(lane, i / 2, i % 2), expected);
    }
    for (std::uint32_t i = 0; i < 4; ++i) {
      const FragmentPlace expected{in_group * 2 + (i & 1U) + (i >= 2 ? 8U : 0U), group};
      EXPECT_EQ(b.at(lane, i / 2, i % 2), expected);
      EXPECT_EQ(c.at(lane, i), (FragmentPlace{i < 2 ? group : group + 8, in_group * 2 + (i & 1U)}));
    }
  }
}

TEST(Fragment, mma_of_other_types_is_the_manuals) {
  for (std::uint32_t lane = 0; lane < 32; ++lane) {
    const std::uint32_t group = lane >> 2;
    const std::uint32_t in_group = lane % 4;
    for (std::uint32_t i = 0; i < 16; ++i) {  // .s8 and the 8-bit floats, m16n8k32
      const FragmentPlace expected{(i / 4) % 2 == 0 ? group : group + 8,
                                   in_group * 4 + (i & 3U) + (i >= 8 ? 16U : 0U)};
      EXPECT_EQ(mma_a(16, 32, 8).at(lane, i / 4, i % 4), expected);
    }
    for (std::uint32_t i = 0; i < 8; ++i) {  // .f64, m16n8k16
      const FragmentPlace expected{i % 2 == 0 ? group : group + 8,
                                   i % 2 == 0 ? i * 2 + in_group : i * 2 - 2 + in_group};
      EXPECT_EQ(mma_a(16, 16, 64).at(lane, i), expected);
    }
    for (std::uint32_t i = 0; i < 64; ++i) {  // .b1, m16n8k128
      const FragmentPlace expected{i < 32 ? group : group + 8, in_group * 32 + (i & 31U)};
      EXPECT_EQ(mma_a(16, 128, 1).at(lane, i / 32, i % 32), expected);
    }
  }
}

TEST(Fragment, m8n8k4_is_the_manuals) {
  for (const bool is_row : {false, true}) {
    expect_bijection(mma_m8n8k4_a(is_row), 8, 4, 4, "A");
    expect_bijection(mma_m8n8k4_b(is_row), 4, 8, 4, "B");
  }
  expect_bijection(mma_m8n8k4_accumulator(16), 8, 8, 4, "D");
  expect_bijection(mma_m8n8k4_accumulator(32), 8, 8, 4, "D");
  for (std::uint32_t lane = 0; lane < 32; ++lane) {
    const std::uint32_t upper = lane < 16 ? 0 : 4;
    const std::uint32_t product = (lane / 4) % 4;
    for (std::uint32_t i = 0; i < 4; ++i) {
      EXPECT_EQ(mma_m8n8k4_a(true).at(lane, i / 2, i % 2),
                (FragmentPlace{lane % 4 + upper, i, product}));
      EXPECT_EQ(mma_m8n8k4_a(false).at(lane, i / 2, i % 2),
                (FragmentPlace{i + upper, lane % 4, product}));
      EXPECT_EQ(mma_m8n8k4_b(true).at(lane, i / 2, i % 2),
                (FragmentPlace{lane % 4, i + upper, product}));
      EXPECT_EQ(mma_m8n8k4_b(false).at(lane, i / 2, i % 2),
                (FragmentPlace{i, lane % 4 + upper, product}));
    }
    for (std::uint32_t i = 0; i < 8; ++i) {
      EXPECT_EQ(mma_m8n8k4_accumulator(32).at(lane, i),
                (FragmentPlace{(lane & 1U) + (i & 2U) + upper, (i & 4U) + (lane & 2U) + (i & 1U),
                               product}));
      EXPECT_EQ(mma_m8n8k4_accumulator(16).at(lane, i / 2, i % 2),
                (FragmentPlace{lane % 4 + upper, i, product}));
    }
  }
}

TEST(Fragment, ldmatrix_gives_what_mma_takes) {
  // ldmatrix.x4 of the four quarters of a 16x16 tile, in the order (0,0) (8,0) (0,8) (8,8), is A
  // of m16n8k16; with .trans, of a tile stored by k, it is B twice.
  const Fragment loaded = ldmatrix_m8n8(4, false);
  const Fragment a = mma_a(16, 16, 16);
  const Fragment turned = ldmatrix_m8n8(2, true);
  const Fragment b = mma_b(16, 16);
  for (std::uint32_t lane = 0; lane < 32; ++lane) {
    for (std::uint32_t i = 0; i < 8; ++i) {
      const FragmentPlace part = loaded.at(lane, i / 2, i % 2);
      const FragmentPlace whole{part.row + 8 * (part.matrix & 1U),
                                part.column + 8 * (part.matrix >> 1)};
      EXPECT_EQ(whole, a.at(lane, i / 2, i % 2));
    }
    for (std::uint32_t i = 0; i < 4; ++i) {
      const FragmentPlace part = turned.at(lane, i / 2, i % 2);
      EXPECT_EQ((FragmentPlace{part.row + 8 * part.matrix, part.column}), b.at(lane, i / 2, i % 2));
    }
  }
  for (const std::uint32_t matrices : {1U, 2U}) {
    expect_bijection(ldmatrix_m16n16(matrices), 16, 16, matrices, "m16n16");
    expect_bijection(ldmatrix_m8n16(matrices), 8, 16, matrices, "m8n16");
  }
  EXPECT_EQ(ldmatrix_address_lane(3, 5), 29U);
}

TEST(Fragment, wgmma_is_four_warps_of_mma) {
  for (const std::uint32_t bits : {8U, 16U, 32U}) {
    expect_bijection(wgmma_a(bits), 64, 256 / bits, 1, "A");
    for (std::uint32_t i = 0; i < 4; ++i) {
      const FragmentPlace one = mma_a(16, 256 / bits, bits).at(13, i);
      EXPECT_EQ(wgmma_a(bits).at(13 + 2 * 32, i), (FragmentPlace{one.row + 32, one.column}));
    }
  }
  for (std::uint32_t n = 8; n <= 256; n += 8) {
    EXPECT_EQ(wgmma_accumulator(n, 32).registers, n / 2);
    EXPECT_EQ(wgmma_accumulator(n, 16).registers, n / 4);
  }
  for (const std::uint32_t n : {8U, 24U, 256U}) {
    expect_bijection(wgmma_accumulator(n, 16), 64, n, 1, "D");
    expect_bijection(wgmma_accumulator(n, 32), 64, n, 1, "D");
  }
  for (std::uint32_t thread = 0; thread < 128; ++thread) {
    for (std::uint32_t i = 0; i < 128; ++i) {
      const FragmentPlace expected{16 * (thread / 32) + (thread % 32) / 4 + 8 * ((i >> 1) & 1U),
                                   8 * (i >> 2) + 2 * (thread % 4) + (i & 1U)};
      ASSERT_EQ(wgmma_accumulator(256, 32).at(thread, i), expected);
      ASSERT_EQ(wgmma_accumulator(256, 16).at(thread, i / 2, i % 2), expected);
    }
  }
}

TEST(Fragment, tensor_memory_loads_cover_what_they_name) {
  struct Shape {
    TmemShape shape;
    std::uint32_t lanes, columns, matrices, registers;
  };
  // Per repeat; registers by the manual's table of .num and .shape.
  const std::vector<Shape> shapes{{TmemShape::S32x32b, 32, 1, 1, 1},
                                  {TmemShape::S16x64b, 16, 2, 1, 1},
                                  {TmemShape::S16x128b, 16, 4, 1, 2},
                                  {TmemShape::S16x256b, 16, 8, 1, 4},
                                  {TmemShape::S16x32bx2, 16, 1, 2, 1}};
  for (const Shape& s : shapes) {
    for (std::uint32_t repeats = 1; repeats * s.registers <= 128; repeats *= 2) {
      Fragment one_warp = tmem_fragment(s.shape, repeats);
      EXPECT_EQ(one_warp.registers, s.registers * repeats);
      // Each warp of a warpgroup has the 32 lanes that begin with its own.
      EXPECT_EQ(one_warp.at(3 * 32, 0).row, 96U);
      one_warp.threads = 32;
      expect_bijection(one_warp, s.lanes, s.columns * repeats, s.matrices, "tcgen05.ld");
    }
  }
}

TEST(Fragment, owner_is_the_inverse) {
  const Fragment d = wgmma_accumulator(64, 32);
  const auto owner = d.owner({37, 50});
  ASSERT_TRUE(owner.has_value());
  EXPECT_EQ(d.at(owner->thread, owner->reg, owner->element), (FragmentPlace{37, 50}));
  EXPECT_FALSE(d.owner({64, 0}).has_value());
}

TEST(Fragment, metadata_has_every_bit_of_its_threads_once) {
  // Bits of an element, elements of a row of A that are stored, selectors.
  for (const auto& [bits, stored, selectors] : {std::tuple{16U, 8U, 4U},
                                                {16U, 16U, 2U},
                                                {32U, 4U, 4U},
                                                {32U, 8U, 2U},
                                                {8U, 16U, 2U},
                                                {8U, 32U, 1U},
                                                {4U, 32U, 2U},
                                                {4U, 64U, 1U}}) {
    const std::uint32_t threads = mma_metadata_threads(bits, stored);
    EXPECT_EQ(threads * selectors, 4U) << bits << " " << stored;
    std::set<std::pair<std::uint32_t, std::uint32_t>> seen;
    for (std::uint32_t selector = 0; selector < selectors; ++selector) {
      for (std::uint32_t row = 0; row < 16; ++row) {
        for (std::uint32_t chunk = 0; chunk < stored / mma_chunk(bits); ++chunk) {
          const BitsPlace at = mma_metadata(bits, stored, selector, row, chunk);
          EXPECT_EQ(at.thread / 4, row % 8);
          for (std::uint32_t i = 0; i < 4; ++i) {
            EXPECT_TRUE(seen.emplace(at.thread, at.bit + i).second);
          }
        }
      }
    }
    EXPECT_EQ(seen.size(), 32U * 32U) << bits << " " << stored;
  }
}

TEST(Fragment, scales_are_those_of_the_selected_threads) {
  EXPECT_EQ(mma_scale_a(3, 1, 2, 0).thread, 12U);
  EXPECT_EQ(mma_scale_a(3, 1, 2, 0).bit, 24U);
  EXPECT_EQ(mma_scale_a(11, 0, 0, 1).thread, 15U);
  EXPECT_EQ(mma_scale_b(7, 3, 0, 2).thread, 30U);
  EXPECT_EQ(mma_scale_b(7, 3, 0, 2).bit, 24U);
}

}  // namespace
}  // namespace pyptx::layout
