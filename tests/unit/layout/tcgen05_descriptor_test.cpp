// SPDX-License-Identifier: Apache-2.0
//
// tcgen05's descriptors against the manual's tables: each field alone, in its own bits; the shapes
// that each kind has and those it must refuse; where the rows of D lie.
#include "pyptx/layout/tcgen05_descriptor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

namespace pyptx::layout {
namespace {

using testing::HasSubstr;
using I = InstructionDescriptor;
using F = ElementFormat;

TEST(Tcgen05MatrixDescriptor, fields_are_in_the_manuals_bits) {
  using D = Tcgen05MatrixDescriptor;
  const std::uint64_t zero = D{}.encode();
  EXPECT_EQ(zero, std::uint64_t{1} << 46);  // bits 46 to 48 hold 0b001
  const auto only = [&](const std::function<void(D&)>& set) {
    D d;
    set(d);
    return d.encode() ^ zero;
  };
  EXPECT_EQ(only([](D& d) { d.start = 0x3FFF0; }), 0x3FFFU);
  EXPECT_EQ(only([](D& d) { d.leading_bytes = 0x3FFF0; }), std::uint64_t{0x3FFF} << 16);
  EXPECT_EQ(only([](D& d) { d.stride_bytes = 0x3FFF0; }), std::uint64_t{0x3FFF} << 32);
  EXPECT_EQ(only([](D& d) { d.base_offset = 7; }), std::uint64_t{7} << 49);
  EXPECT_EQ(only([](D& d) { d.leading_is_address = true; }), std::uint64_t{1} << 52);
  for (const auto mode : {Tcgen05Swizzle::B128Atom32, Tcgen05Swizzle::B128, Tcgen05Swizzle::B64,
                          Tcgen05Swizzle::B32}) {
    EXPECT_EQ(only([&](D& d) { d.swizzle = mode; }), static_cast<std::uint64_t>(mode) << 61);
  }
  const D all{0x12340, 0x8000, 0x400, 5, false, Tcgen05Swizzle::B64};
  EXPECT_EQ(D::decode(all.encode()), all);
  // A K-major tile with the 128 B swizzle: 8 rows of 128 bytes, then the next 8.
  EXPECT_EQ((D{0, 16, 1024, 0, false, Tcgen05Swizzle::B128}.encode()), 4611756662049538048U);
}

TEST(Tcgen05MatrixDescriptor, refuses_what_it_cannot_say) {
  using D = Tcgen05MatrixDescriptor;
  EXPECT_FALSE((D{0x400, 16, 1024, 0, false, Tcgen05Swizzle::B128}.problem()));
  EXPECT_THAT((D{8, 16, 1024}.problem().value_or("")), HasSubstr("begins at byte 8"));
  EXPECT_THAT((D{0, 8, 1024}.problem().value_or("")), HasSubstr("leading offset is 8"));
  EXPECT_THAT((D{0, 16, 0x40000}.problem().value_or("")), HasSubstr("stride offset is 262144"));
  EXPECT_THAT((D{0, 0, 0, 8}.problem().value_or("")), HasSubstr("base offset"));
  EXPECT_THAT((D{0, 0, 0, 0, false, Tcgen05Swizzle{3}}.problem().value_or("")),
              HasSubstr("no swizzle mode 3"));
  EXPECT_THAT((D{0, 0, 0, 0, true, Tcgen05Swizzle::B64}.problem().value_or("")),
              HasSubstr("absolute"));
}

/// The bits that differ from the descriptor of `kind` with the smallest fields.
std::uint32_t changed(MmaKind kind, const std::function<void(I&)>& set) {
  I base;
  base.kind = kind;
  base.m = 0;
  base.n = 0;
  base.d = F::F16;
  base.a = base.b = kind == MmaKind::I8 ? F::U8 : kind == MmaKind::F16 ? F::F16 : F::E4m3;
  base.scale = F::Ue4m3;
  I other = base;
  set(other);
  return base.encode() ^ other.encode();
}

TEST(InstructionDescriptor, dense_fields_are_in_the_manuals_bits) {
  using K = MmaKind;
  EXPECT_EQ(changed(K::F16, [](I& i) { i.sparsity_selector = 3; }), 3U);
  EXPECT_EQ(changed(K::F16, [](I& i) { i.sparse = true; }), 1U << 2);
  EXPECT_EQ(changed(K::I8, [](I& i) { i.saturate = true; }), 1U << 3);
  EXPECT_EQ(changed(K::F16, [](I& i) { i.d = F::F32; }), 1U << 4);
  EXPECT_EQ(changed(K::I8, [](I& i) { i.d = F::S32; }), 2U << 4);
  EXPECT_EQ(changed(K::F16, [](I& i) { i.a = F::Bf16; }), 1U << 7);
  EXPECT_EQ(changed(K::Tf32, [](I& i) { i.a = F::Tf32; }), 2U << 7);
  EXPECT_EQ(changed(K::F8f6f4, [](I& i) { i.a = F::E2m3; }), 3U << 7);
  EXPECT_EQ(changed(K::F8f6f4, [](I& i) { i.a = F::E3m2; }), 4U << 7);
  EXPECT_EQ(changed(K::F8f6f4, [](I& i) { i.b = F::E2m1; }), 5U << 10);
  EXPECT_EQ(changed(K::F8f6f4, [](I& i) { i.b = F::E5m2; }), 1U << 10);
  EXPECT_EQ(changed(K::I8, [](I& i) { i.b = F::S8; }), 1U << 10);
  EXPECT_EQ(changed(K::F16, [](I& i) { i.negate_a = true; }), 1U << 13);
  EXPECT_EQ(changed(K::F16, [](I& i) { i.negate_b = true; }), 1U << 14);
  EXPECT_EQ(changed(K::F16, [](I& i) { i.transpose_a = true; }), 1U << 15);
  EXPECT_EQ(changed(K::F16, [](I& i) { i.transpose_b = true; }), 1U << 16);
  EXPECT_EQ(changed(K::F16, [](I& i) { i.n = 256; }), 32U << 17);
  EXPECT_EQ(changed(K::F16, [](I& i) { i.m = 256; }), 16U << 24);
  EXPECT_EQ(changed(K::F16, [](I& i) { i.max_shift = 8; }), 1U << 30);
  EXPECT_EQ(changed(K::F16, [](I& i) { i.max_shift = 32; }), 3U << 30);
}

TEST(InstructionDescriptor, scaled_fields_are_in_the_manuals_bits) {
  for (const MmaKind kind : {MmaKind::Mxf8f6f4, MmaKind::Mxf4, MmaKind::Mxf4nvf4}) {
    EXPECT_EQ(changed(kind, [](I& i) { i.sparse = true; }), 1U << 2);
    EXPECT_EQ(changed(kind, [](I& i) { i.scale_b_id = 2; }), 2U << 4);
    EXPECT_EQ(changed(kind, [](I& i) { i.n = 128; }), 16U << 17);
    EXPECT_EQ(changed(kind, [](I& i) { i.scale = F::Ue8m0; }), 1U << 23);
    EXPECT_EQ(changed(kind, [](I& i) { i.m = 256; }), 2U << 27);
    EXPECT_EQ(changed(kind, [](I& i) { i.scale_a_id = 2; }), 2U << 29);
    EXPECT_EQ(changed(kind, [](I& i) { i.k96 = true; }), 1U << 31);
  }
  EXPECT_EQ(changed(MmaKind::Mxf8f6f4, [](I& i) { i.a = F::E2m1; }), 5U << 7);
  EXPECT_EQ(changed(MmaKind::Mxf4nvf4, [](I& i) { i.a = F::E2m1; }), 1U << 7);
  EXPECT_EQ(changed(MmaKind::Mxf4, [](I& i) { i.b = F::E2m1; }), 1U << 10);
}

TEST(InstructionDescriptor, decode_is_the_inverse) {
  I i;
  i.d = F::F16;
  i.a = i.b = F::F16;
  i.m = 64;
  i.n = 40;
  i.sparse = true;
  i.sparsity_selector = 1;
  i.transpose_b = true;
  i.max_shift = 16;
  EXPECT_EQ(I::decode(MmaKind::F16, i.encode()), i);
  I scaled;
  scaled.kind = MmaKind::Mxf4nvf4;
  scaled.a = scaled.b = F::E2m1;
  scaled.scale = F::Ue4m3;
  scaled.scale_a_id = 2;
  scaled.negate_b = true;
  EXPECT_EQ(I::decode(MmaKind::Mxf4nvf4, scaled.encode()), scaled);
  // The example of every Blackwell GEMM: bf16 in, f32 out, 128 x 256.
  EXPECT_EQ(I{}.encode(), 1U << 4 | 1U << 7 | 1U << 10 | 32U << 17 | 8U << 24);
}

I shape(MmaKind kind, std::uint32_t m, std::uint32_t n, bool sparse = false) {
  I i;
  i.kind = kind;
  i.m = m;
  i.n = n;
  i.sparse = sparse;
  switch (kind) {
    case MmaKind::F16:
      break;
    case MmaKind::Tf32:
      i.a = i.b = F::Tf32;
      break;
    case MmaKind::I8:
      i.a = i.b = F::S8;
      i.d = F::S32;
      break;
    case MmaKind::F8f6f4:
    case MmaKind::Mxf8f6f4:
      i.a = i.b = F::E4m3;
      break;
    default:
      i.a = i.b = F::E2m1;
  }
  return i;
}

TEST(InstructionDescriptor, shapes_are_the_manuals) {
  using K = MmaKind;
  for (const K kind : {K::F16, K::Tf32, K::F8f6f4}) {
    EXPECT_FALSE(shape(kind, 64, 8).problem(1, false));
    EXPECT_FALSE(shape(kind, 128, 248).problem(1, false));
    EXPECT_FALSE(shape(kind, 256, 240).problem(2, false));
    EXPECT_FALSE(shape(kind, 32, 64).problem(1, true));
    EXPECT_TRUE(shape(kind, 32, 64).problem(1, false));
    EXPECT_TRUE(shape(kind, 256, 64).problem(1, false));
    EXPECT_TRUE(shape(kind, 64, 64).problem(2, false));
    EXPECT_TRUE(shape(kind, 128, 24).problem(2, false));
    EXPECT_TRUE(shape(kind, 128, 12).problem(1, false));
    EXPECT_TRUE(shape(kind, 128, 264).problem(1, false));
    EXPECT_TRUE(shape(kind, 128, 0).problem(1, false));
    EXPECT_TRUE(shape(kind, 64, 32).problem(1, true));
    EXPECT_TRUE(shape(kind, 64, 256, true).problem(1, true));
    EXPECT_FALSE(shape(kind, 64, 128, true).problem(1, true));
  }
  EXPECT_FALSE(shape(K::I8, 64, 24).problem(1, false));
  EXPECT_FALSE(shape(K::I8, 64, 48).problem(1, false));
  EXPECT_TRUE(shape(K::I8, 64, 40).problem(1, false));
  EXPECT_TRUE(shape(K::I8, 128, 48).problem(2, false));
  for (const K kind : {K::Mxf8f6f4, K::Mxf4, K::Mxf4nvf4}) {
    EXPECT_FALSE(shape(kind, 128, 8).problem(1, false));
    EXPECT_TRUE(shape(kind, 64, 8).problem(1, false));
    EXPECT_FALSE(shape(kind, 128, 16).problem(2, false));
    EXPECT_FALSE(shape(kind, 256, 16, true).problem(2, false));
    EXPECT_TRUE(shape(kind, 128, 16, true).problem(2, false));
    EXPECT_TRUE(shape(kind, 128, 128).problem(1, true));
  }
}

TEST(InstructionDescriptor, a_field_that_means_nothing_is_named) {
  using K = MmaKind;
  const std::uint32_t bits = shape(K::F16, 128, 64).encode();
  EXPECT_EQ(I::meaningless_field(K::F16, bits), "");
  EXPECT_EQ(I::meaningless_field(K::F16, bits | 1U << 23), "a reserved bit (23) is 1");
  EXPECT_EQ(I::meaningless_field(K::F16, bits | 7U << 10), "the type of B (bits 10 to 12) is 7");
  EXPECT_EQ(I::meaningless_field(K::Mxf8f6f4, shape(K::Mxf8f6f4, 128, 64).encode() | 1U << 24),
            "a reserved bit (24) is 1");
}

TEST(InstructionDescriptor, the_guilty_half_of_a_shape_is_named) {
  const char* field = "";
  EXPECT_TRUE(shape(MmaKind::F16, 100, 64).problem(1, false, &field));
  EXPECT_STREQ(field, "m");
  EXPECT_TRUE(shape(MmaKind::F16, 128, 100).problem(1, false, &field));
  EXPECT_STREQ(field, "n");
}

TEST(InstructionDescriptor, fields_that_a_kind_lacks_are_refused) {
  const auto refused = [](MmaKind kind, const std::function<void(I&)>& set) {
    I i = shape(kind, 128, 64);
    EXPECT_FALSE(i.problem(1, false));
    set(i);
    return i.problem(1, false).value_or("");
  };
  using K = MmaKind;
  EXPECT_THAT(refused(K::I8, [](I& i) { i.negate_a = true; }), HasSubstr("negated"));
  EXPECT_THAT(refused(K::F16, [](I& i) { i.saturate = true; }), HasSubstr("saturate"));
  EXPECT_THAT(refused(K::Mxf4, [](I& i) { i.transpose_a = true; }), HasSubstr("K-major"));
  EXPECT_THAT(refused(K::F16, [](I& i) { i.sparsity_selector = 1; }), HasSubstr("sparse"));
  EXPECT_THAT(refused(K::F16, [](I& i) { i.max_shift = 4; }), HasSubstr("0, 8, 16 or 32"));
  EXPECT_THAT(refused(K::F16, [](I& i) { i.k96 = true; }), HasSubstr("K = 96"));
  EXPECT_THAT(refused(K::F16, [](I& i) { i.scale_a_id = 1; }), HasSubstr("without scales"));
  EXPECT_THAT(refused(K::Mxf4, [](I& i) { i.scale_a_id = 1; }), HasSubstr("0 or 2"));
  EXPECT_THAT(refused(K::Mxf8f6f4, [](I& i) { i.scale_b_id = 4; }), HasSubstr("0 to 3"));
  EXPECT_THAT(refused(K::Mxf8f6f4, [](I& i) { i.scale = F::Ue4m3; }), HasSubstr("scales"));
  EXPECT_THAT(refused(K::F16, [](I& i) { i.d = F::F16; }), HasSubstr("not bf16"));
  EXPECT_THAT(refused(K::F16, [](I& i) { i.a = F::E4m3; }), HasSubstr("type of A or B"));
  EXPECT_THAT(refused(K::Tf32, [](I& i) { i.d = F::F16; }), HasSubstr("type of D"));
  EXPECT_EQ(tcgen05_k(K::F16, false), 16U);
  EXPECT_EQ(tcgen05_k(K::Mxf4nvf4, true), 128U);
}

TEST(ZeroColumnMask, fields_are_in_the_manuals_bits) {
  // The manual's fourth example: counts {1, 2, 1, 0}, spans {0, 0, 1, 1}, skip 2, use 3, shift 2.
  ZeroColumnMask mask{{0, 1, 2, 1}, {true, true, false, false}, true, 3, 4, 2};
  EXPECT_EQ(mask.encode(), 0x0203'0283'0102'0100U);
  EXPECT_FALSE(mask.problem());
  mask.column_shift = 33;
  EXPECT_THAT(mask.problem().value_or(""), HasSubstr("shift"));
  mask = {};
  mask.zero_columns = 257;
  EXPECT_THAT(mask.problem().value_or(""), HasSubstr("257"));
}

TEST(AccumulatorLayout, every_element_has_one_place) {
  const std::vector<AccumulatorLayout> layouts{
      {32, 64, 1, true, false},  {64, 128, 1, true, false},  {64, 64, 1, false, false},
      {128, 32, 1, false, true}, {128, 64, 2, false, false}, {128, 64, 2, false, true},
      {256, 16, 2, false, false}};
  for (const AccumulatorLayout& layout : layouts) {
    std::set<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>> seen;
    for (std::uint32_t row = 0; row < layout.m; ++row) {
      for (std::uint32_t column = 0; column < layout.n; ++column) {
        const TmemPlace at = accumulator_place(layout, row, column);
        EXPECT_LT(at.lane, 128U);
        EXPECT_LT(at.cta, static_cast<std::uint32_t>(layout.cta_group));
        EXPECT_TRUE(seen.emplace(at.cta, at.lane, at.column).second);
      }
    }
  }
}

TEST(AccumulatorLayout, rows_go_to_the_manuals_lanes) {
  EXPECT_EQ(accumulator_place({128, 256, 1}, 77, 9), (TmemPlace{0, 77, 9}));
  EXPECT_EQ(accumulator_place({256, 256, 2}, 200, 9), (TmemPlace{1, 72, 9}));
  EXPECT_EQ(accumulator_place({64, 256, 1}, 20, 9), (TmemPlace{0, 36, 9}));
  EXPECT_EQ(accumulator_place({128, 256, 2}, 70, 130), (TmemPlace{1, 70, 2}));
  EXPECT_EQ(accumulator_place({32, 64, 1, true}, 5, 17), (TmemPlace{0, 37, 1}));
}

TEST(Tcgen05MatrixDescriptor, addresses_are_those_of_wgmma_where_both_have_the_swizzle) {
  for (const Swizzle swizzle : {Swizzle::None, Swizzle::B32, Swizzle::B64, Swizzle::B128}) {
    const MatrixDescriptor old{2048, 512, 1024, 3, layout_type(swizzle)};
    const Tcgen05MatrixDescriptor now{2048, 512, 1024, 3, false, tcgen05_swizzle(swizzle)};
    for (const Major major : {Major::K, Major::MN}) {
      for (std::uint32_t mn = 0; mn < 64; mn += 8) {
        for (std::uint32_t k = 0; k < 16; k += 8) {
          EXPECT_EQ(now.address(major, 2, mn, k), old.address(major, 2, mn, k));
        }
      }
    }
  }
}

TEST(Tcgen05MatrixDescriptor, units_of_32_bytes_turn_every_four_rows) {
  const Tcgen05MatrixDescriptor tile{1024, 4096, 512, 0, false, Tcgen05Swizzle::B128Atom32};
  EXPECT_EQ(tile.address(Major::MN, 4, 0, 0), 1024U);
  EXPECT_EQ(tile.address(Major::MN, 4, 0, 1), 1024U + 128 + 32);
  EXPECT_EQ(tile.address(Major::MN, 4, 8, 3), 1024U + 384 + (32 ^ 96));
  EXPECT_EQ(tile.address(Major::MN, 4, 0, 4), 1024U + 512);    // the stride offset
  EXPECT_EQ(tile.address(Major::MN, 4, 32, 0), 1024U + 4096);  // the leading offset
}

TEST(OperandCopies, each_part_of_the_columns_has_its_own) {
  EXPECT_EQ(operand_copies({128, 64, 1}).count, 1U);
  EXPECT_EQ(operand_copies({64, 64, 1, true}).lanes, 64U);
  EXPECT_EQ(operand_copies({32, 64, 1, true}).count, 4U);
  EXPECT_EQ(operand_copies({128, 64, 2}).count, 2U);
  EXPECT_EQ(operand_copies({256, 64, 2}).count, 1U);
}

TEST(ScalePlace, factors_lie_in_32_lanes_of_each_group) {
  const ScalePlace a = scale_a_place({256, 64, 2}, 128 + 70);
  EXPECT_EQ(std::tuple(a.first_lane, a.groups, a.lane, a.column), std::tuple(0U, 4U, 6U, 2U));
  const ScalePlace b = scale_b_place({128, 128, 2}, 64 + 40);  // the upper half of N
  EXPECT_EQ(std::tuple(b.first_lane, b.groups, b.lane, b.column), std::tuple(64U, 2U, 8U, 1U));
}

TEST(TmemCopy, rows_go_to_the_lanes_of_their_warps) {
  EXPECT_EQ(copy_lane(TmemCopy::S128x128b, 100, 0), 100U);
  EXPECT_EQ(copy_lane(TmemCopy::S4x256b, 3, 0), 96U);
  EXPECT_EQ(copy_lane(TmemCopy::S64x128b02, 40, 1), 104U);
  EXPECT_EQ(copy_lane(TmemCopy::S64x128b01, 40, 1), 104U);
  EXPECT_EQ(copy_lane(TmemCopy::S64x128b01, 40, 0), 72U);
  EXPECT_EQ(copy_lane(TmemCopy::S32x128b, 9, 3), 105U);
  EXPECT_EQ(copy_shape(TmemCopy::S32x128b).copies, 4U);
}

}  // namespace
}  // namespace pyptx::layout
