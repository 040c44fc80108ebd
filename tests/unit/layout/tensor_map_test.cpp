// SPDX-License-Identifier: Apache-2.0
//
// Each rule of the driver's encoder, at the last accepted value and at the first refused one.
#include "pyptx/layout/tensor_map.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>

namespace pyptx::layout {
namespace {

using testing::HasSubstr;
using testing::Optional;

TensorMap plain() {
  TensorMap map;
  map.type = MapType::BF16;
  map.rank = 3;
  map.dims = {1024, 512, 4};
  map.strides = {2048, 1048576};
  map.box = {64, 128, 1};
  map.swizzle = Swizzle::B128;
  return map;
}

TEST(TensorMap, accepts_a_usual_map) {
  EXPECT_EQ(plain().problem(0x7000), std::nullopt);
  EXPECT_EQ(plain().problem(0), std::nullopt);
  EXPECT_EQ(plain().box_bytes(), 64U * 128U * 2U);
}

TEST(TensorMap, box_bytes_counts_strided_elements) {
  TensorMap map = plain();
  map.box = {64, 100, 1};
  map.element_strides = {7, 3, 1, 1, 1};  // the innermost stride is ignored
  EXPECT_EQ(map.box_bytes(), 64U * 34U * 2U);
}

TEST(TensorMap, rows_of_a_swizzle_are_as_wide_as_its_span) {
  TensorMap map = plain();
  EXPECT_EQ(map.row_pitch(), 128U);
  map.box[0] = 24;
  EXPECT_EQ(map.row_bytes(), 48U);
  EXPECT_EQ(map.row_pitch(), 128U);
  map.swizzle = Swizzle::None;
  EXPECT_EQ(map.row_pitch(), 48U);
}

TEST(TensorMap, interleaved_maps_count_slices) {
  TensorMap map = plain();
  map.interleave = Interleave::B16;
  map.box = {16, 24, 3};  // of channels, dimension 1, one slice comes
  map.element_strides = {3, 1, 2, 1, 1};
  EXPECT_EQ(map.problem(0), std::nullopt);
  EXPECT_EQ(map.row_bytes(), 6U * 16U);
  EXPECT_EQ(map.row_pitch(), 6U * 16U);
  EXPECT_EQ(map.box_bytes(), 6U * 16U * 2U);
  map.rank = 2;
  EXPECT_THAT(map.problem(0), Optional(HasSubstr("3 to 5 dimensions")));
}

TEST(TensorMap, slices_of_32_bytes_have_rules_of_their_own) {
  TensorMap map = plain();
  map.interleave = Interleave::B32;
  EXPECT_THAT(map.problem(0), Optional(HasSubstr("32 B swizzle")));
  map.swizzle = Swizzle::B32;
  EXPECT_EQ(map.problem(0x40), std::nullopt);
  EXPECT_THAT(map.problem(0x50), Optional(HasSubstr("multiple of 32")));
  map.strides[0] = 2064;
  EXPECT_THAT(map.problem(0), Optional(HasSubstr("multiple of 32")));
  map.interleave = static_cast<Interleave>(3);
  EXPECT_THAT(map.problem(0), Optional(HasSubstr("not one of 0 to 2")));
}

TEST(TensorMap, rank) {
  TensorMap map = plain();
  map.rank = 0;
  EXPECT_THAT(map.problem(0), Optional(HasSubstr("1 to 5 dimensions, not 0")));
  map.rank = 6;
  EXPECT_THAT(map.problem(0), Optional(HasSubstr("not 6")));
}

TEST(TensorMap, address) {
  EXPECT_THAT(plain().problem(0x7008), Optional(HasSubstr("multiple of 16")));
}

TEST(TensorMap, dimensions) {
  TensorMap map = plain();
  map.dims[1] = std::uint64_t{1} << 32;
  EXPECT_EQ(map.problem(0), std::nullopt);
  ++map.dims[1];
  EXPECT_THAT(map.problem(0), Optional(HasSubstr("dimension 1 has 4294967297")));
  map.dims[1] = 0;
  EXPECT_THAT(map.problem(0), Optional(HasSubstr("dimension 1 has 0")));
}

TEST(TensorMap, strides) {
  TensorMap map = plain();
  map.strides[1] = (std::uint64_t{1} << 40) - 16;
  EXPECT_EQ(map.problem(0), std::nullopt);
  map.strides[1] += 16;
  EXPECT_THAT(map.problem(0), Optional(HasSubstr("dimension 2 is 1099511627776 bytes")));
  map.strides[1] = 2056;
  EXPECT_THAT(map.problem(0), Optional(HasSubstr("multiple of 16")));
}

TEST(TensorMap, box) {
  TensorMap map = plain();
  map.box[1] = 256;
  EXPECT_EQ(map.problem(0), std::nullopt);
  map.box[1] = 257;
  EXPECT_THAT(map.problem(0), Optional(HasSubstr("dimension 1 of the box has 257")));
  map.box[1] = 0;
  EXPECT_THAT(map.problem(0), Optional(HasSubstr("has 0 elements")));
}

TEST(TensorMap, inner_box) {
  TensorMap map = plain();
  map.box[0] = 72;
  EXPECT_THAT(map.problem(0), Optional(HasSubstr("144 bytes, the limit of the 128 B swizzle")));
  map.swizzle = Swizzle::None;
  EXPECT_EQ(map.problem(0), std::nullopt);
  map.box[0] = 20;
  EXPECT_THAT(map.problem(0), Optional(HasSubstr("40 bytes, it must be a multiple of 16")));
  map.box[0] = 32;
  map.swizzle = Swizzle::B32;
  EXPECT_THAT(map.problem(0), Optional(HasSubstr("limit of the 32 B swizzle is 32")));
}

TEST(TensorMap, element_strides) {
  TensorMap map = plain();
  map.element_strides[2] = 8;
  EXPECT_EQ(map.problem(0), std::nullopt);
  map.element_strides[2] = 9;
  EXPECT_THAT(map.problem(0), Optional(HasSubstr("element stride of dimension 2 is 9")));
}

TEST(TensorMap, nan_fill_is_for_floating_point) {
  TensorMap map = plain();
  map.oob_nan = true;
  EXPECT_EQ(map.problem(0), std::nullopt);
  map.type = MapType::U16;
  EXPECT_THAT(map.problem(0), Optional(HasSubstr("floating-point")));
}

TEST(TensorMap, unused_dimensions_are_not_looked_at) {
  TensorMap map = plain();
  map.rank = 1;
  map.dims = {256, 0, 0};
  map.strides = {3, 5};
  map.box = {64, 0, 999};
  EXPECT_EQ(map.problem(0), std::nullopt);
}

}  // namespace
}  // namespace pyptx::layout
