// SPDX-License-Identifier: Apache-2.0
//
// What a box brings, against the PTX manual's rules worked out one element at a time.
#include "pyptx/layout/tensor_box.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace pyptx::layout {
namespace {

TensorMap matrix(std::uint64_t rows, std::uint64_t columns, std::uint32_t box_rows,
                 std::uint32_t box_columns) {
  TensorMap map;
  map.type = MapType::BF16;
  map.rank = 2;
  map.dims = {columns, rows};
  map.strides = {columns * 2};
  map.box = {box_columns, box_rows};
  return map;
}

std::vector<BoxRow> rows_of(const TensorBox& box) {
  std::vector<BoxRow> rows;
  box.each_row([&](const BoxRow& row) { rows.push_back(row); });
  return rows;
}

TEST(TensorBox, rows_go_by_dimension_one) {
  TensorBox box;
  box.map = matrix(10, 64, 4, 32);
  box.coordinates = {32, 8};
  const auto rows = rows_of(box);
  ASSERT_EQ(rows.size(), 4U);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(rows[i].index, i);
    EXPECT_EQ(rows[i].at[1], static_cast<std::int64_t>(8 + i));
    EXPECT_EQ(rows[i].in_bounds, i < 2) << i;
  }
  EXPECT_EQ(box.global_offset(rows[1], 3), 9U * 128 + (32 + 3) * 2);
}

TEST(TensorBox, a_row_is_cut_at_both_ends) {
  TensorBox box;
  box.map = matrix(10, 64, 4, 32);
  box.coordinates = {-5, 0};
  EXPECT_EQ(box.inside(false).begin, 5U);
  EXPECT_EQ(box.inside(false).end, 32U);
  box.coordinates = {51, 0};
  EXPECT_EQ(box.inside(false).begin, 0U);
  EXPECT_EQ(box.inside(false).end, 13U);
  EXPECT_EQ(box.inside(true).end, 16U) << "a store writes whole pieces of 16 bytes";
  box.coordinates = {64, 0};
  EXPECT_EQ(box.inside(false).end, 0U);
}

TEST(TensorBox, steps_and_dimensions_nest) {
  TensorBox box;
  TensorMap& map = box.map;
  map.type = MapType::F32;
  map.rank = 3;
  map.dims = {16, 9, 5};
  map.strides = {64, 576};
  map.box = {8, 4, 2};
  map.element_strides = {1, 2, 1};
  box.coordinates = {0, 5, 3};
  const auto rows = rows_of(box);
  ASSERT_EQ(rows.size(), 4U);  // two of dimension 1, two of dimension 2
  const std::int64_t wanted[4][2] = {{5, 3}, {7, 3}, {5, 4}, {7, 4}};
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(rows[i].at[1], wanted[i][0]) << i;
    EXPECT_EQ(rows[i].at[2], wanted[i][1]) << i;
    EXPECT_TRUE(rows[i].in_bounds);
  }
}

TEST(TensorBox, gathered_rows_are_those_of_the_coordinates) {
  TensorBox box;
  box.map = matrix(100, 64, 1, 64);
  box.mode = BoxMode::Rows4;
  box.coordinates = {0, 7, 99, 100, 3};
  const auto rows = rows_of(box);
  ASSERT_EQ(rows.size(), 4U);
  EXPECT_EQ(rows[1].at[1], 99);
  EXPECT_TRUE(rows[1].in_bounds);
  EXPECT_FALSE(rows[2].in_bounds);
  EXPECT_EQ(box.tile_bytes(), 4U * 128);
}

TEST(TensorBox, pixels_turn_at_the_bounding_box) {
  TensorBox box;
  TensorMap& map = box.map;
  map.type = MapType::F32;
  map.rank = 4;  // C, W, H, N
  map.dims = {4, 3, 2, 2};
  map.strides = {16, 48, 96};
  map.im2col.lower = {-1, 0, 0};
  map.im2col.upper = {-1, 0, 0};
  map.im2col.channels = 4;
  map.im2col.pixels = 8;
  box.mode = BoxMode::Im2col;
  box.coordinates = {0, -1, 0, 0};
  box.offsets = {1, 0, 0};
  const auto rows = rows_of(box);
  ASSERT_EQ(rows.size(), 8U);
  // W of the box goes from -1 to 1; the offset moves what is read by one.
  const std::int64_t wanted[8][3] = {{0, 0, 0}, {1, 0, 0}, {2, 0, 0}, {0, 1, 0},
                                     {1, 1, 0}, {2, 1, 0}, {0, 0, 1}, {1, 0, 1}};
  for (std::size_t i = 0; i < 8; ++i) {
    EXPECT_EQ(rows[i].at[1], wanted[i][0]) << i;
    EXPECT_EQ(rows[i].at[2], wanted[i][1]) << i;
    EXPECT_EQ(rows[i].at[3], wanted[i][2]) << i;
    EXPECT_TRUE(rows[i].in_bounds) << i;
  }
}

TEST(TensorBox, chunks_lie_where_the_swizzle_puts_them) {
  TensorBox box;
  box.map = matrix(64, 64, 8, 64);
  box.map.swizzle = Swizzle::B128;
  const auto rows = rows_of(box);
  for (const BoxRow& row : rows) {
    for (std::uint32_t chunk = 0; chunk < 8; ++chunk) {
      const auto line = static_cast<std::uint32_t>(row.index);
      EXPECT_EQ(box.shared_offset(1024, row, chunk * 16), 1024 + line * 128 + (chunk ^ line) * 16);
    }
  }
}

}  // namespace
}  // namespace pyptx::layout
