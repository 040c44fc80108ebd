// SPDX-License-Identifier: Apache-2.0
//
// Whole tiles: what a row of block-wide TMA loads writes is what the descriptors of every wgmma
// of the tile read.
#include "pyptx/layout/canonical.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace pyptx::layout {
namespace {

using Element = std::pair<std::uint32_t, std::uint32_t>;  // mn, k

/// Shared memory after one TMA load per block: byte address -> element.
std::map<std::uint32_t, Element> stored(const OperandTile& tile, Swizzle swizzle,
                                        std::uint32_t start) {
  std::map<std::uint32_t, Element> memory;
  const std::uint32_t span = swizzle_span(swizzle);
  for (std::uint32_t block = 0; block < tile.row_bytes() / span; ++block) {
    const std::uint32_t base = start + block * tile.rows() * span;
    for (std::uint32_t row = 0; row < tile.rows(); ++row) {
      for (std::uint32_t byte = 0; byte < span; byte += tile.element_bytes) {
        const std::uint32_t column = (block * span + byte) / tile.element_bytes;
        const Element element =
            tile.major == Major::K ? Element{row, column} : Element{column, row};
        memory[apply_swizzle(swizzle, base + row * span + byte)] = element;
      }
    }
  }
  return memory;
}

struct Case {
  OperandTile tile;
  Swizzle swizzle;
};

class Tiles : public testing::TestWithParam<Case> {};

TEST_P(Tiles, descriptors_read_what_tma_wrote) {
  const auto& [tile, swizzle] = GetParam();
  const std::uint32_t start = 2048;
  const auto memory = stored(tile, swizzle, start);
  ASSERT_EQ(memory.size(), std::size_t{tile.mn} * tile.k);
  const auto layout = canonical_layout(tile, swizzle);
  ASSERT_TRUE(layout.ok()) << layout.error();
  const std::uint32_t step = wgmma_k(tile.element_bytes);
  for (std::uint32_t k0 = 0; k0 < tile.k; k0 += step) {
    const MatrixDescriptor descriptor =
        MatrixDescriptor::decode(layout->descriptor(start + k_advance(tile, swizzle, k0)).encode());
    for (std::uint32_t mn = 0; mn < tile.mn; ++mn) {
      for (std::uint32_t k = 0; k < step; ++k) {
        const std::uint32_t address = descriptor.address(tile.major, tile.element_bytes, mn, k);
        ASSERT_EQ(memory.at(address), Element(mn, k0 + k));
      }
    }
  }
}

TEST_P(Tiles, rows_can_be_advanced_too) {
  const auto& [tile, swizzle] = GetParam();
  const std::uint32_t half = tile.mn / 2;
  const auto memory = stored(tile, swizzle, 0);
  const auto layout = canonical_layout(tile, swizzle);
  const MatrixDescriptor descriptor = layout->descriptor(mn_advance(tile, swizzle, half));
  for (std::uint32_t mn = 0; mn < half; ++mn) {
    const std::uint32_t address = descriptor.address(tile.major, tile.element_bytes, mn, 3);
    ASSERT_EQ(memory.at(address), Element(half + mn, 3));
  }
}

std::vector<Case> all_tiles() {
  std::vector<Case> cases;
  for (const Swizzle swizzle : {Swizzle::None, Swizzle::B32, Swizzle::B64, Swizzle::B128}) {
    for (const std::uint32_t bytes : {1U, 2U, 4U}) {
      cases.push_back({{bytes, 64, 128 / bytes, Major::K}, swizzle});
      cases.push_back({{bytes, 128, 256 / bytes, Major::K}, swizzle});
    }
    cases.push_back({{2, 128, 32, Major::MN}, swizzle});
    cases.push_back({{2, 256, 64, Major::MN}, swizzle});
    cases.push_back({{1, 256, 64, Major::MN, true}, swizzle});
  }
  return cases;
}
INSTANTIATE_TEST_SUITE_P(All, Tiles, testing::ValuesIn(all_tiles()));

TEST(PickLayout, takes_the_widest_row_that_divides_the_tile) {
  const auto swizzle = [](OperandTile tile) { return pick_layout(tile)->swizzle; };
  EXPECT_EQ(swizzle({2, 128, 64, Major::K}), Swizzle::B128);
  EXPECT_EQ(swizzle({2, 128, 32, Major::K}), Swizzle::B64);
  EXPECT_EQ(swizzle({2, 128, 16, Major::K}), Swizzle::B32);
  EXPECT_EQ(swizzle({2, 24, 64, Major::MN}), Swizzle::None);
  EXPECT_EQ(swizzle({2, 256, 64, Major::MN}), Swizzle::B128);
  EXPECT_EQ(swizzle({1, 64, 32, Major::K}), Swizzle::B32);
}

TEST(PickLayout, fields_of_the_common_gemm_tiles) {
  const auto a = pick_layout({2, 64, 64, Major::K});
  EXPECT_EQ(a->stride_bytes, 1024U);
  EXPECT_EQ(a->leading_bytes, 16U);
  const auto b = pick_layout({2, 128, 64, Major::MN});
  EXPECT_EQ(b->stride_bytes, 1024U);
  EXPECT_EQ(b->leading_bytes, 64U * 128U);
}

TEST(PickLayout, refuses_what_wgmma_cannot_read) {
  const auto reason = [](OperandTile tile) {
    const auto picked = pick_layout(tile);
    return picked.ok() ? std::string() : picked.error();
  };
  EXPECT_NE(reason({8, 64, 32, Major::K}).find("1, 2 or 4 bytes, not 8"), std::string::npos);
  EXPECT_NE(reason({1, 64, 64, Major::MN}).find("16-bit elements"), std::string::npos);
  EXPECT_NE(reason({2, 60, 64, Major::K}).find("multiple of 8, not 60"), std::string::npos);
  EXPECT_NE(reason({2, 64, 24, Major::K}).find("multiple of 16, not 24"), std::string::npos);
  EXPECT_NE(reason({2, 256, 4096, Major::MN}).find("262128"), std::string::npos);
  EXPECT_FALSE(canonical_layout({2, 64, 32, Major::K}, Swizzle::B128).ok());
}

}  // namespace
}  // namespace pyptx::layout
