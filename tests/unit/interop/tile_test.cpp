// SPDX-License-Identifier: Apache-2.0
//
// Tiles against shapes and element types, their maps, and what a kernel declares with them.
#include "pyptx/interop/tile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pyptx/interop/signature.h"

namespace pyptx::interop {
namespace {

using diag::Kind;
using testing::ElementsAre;
using testing::HasSubstr;

template <typename T>
std::string tile_said(const diag::Result<T>& result) {
  return result ? "nothing" : std::string(result.error().code()) + " " + result.error().message();
}

TEST(TileTest, NamesTakeTheirValuesFromAShape) {
  const Tile tile{.dims = {"M", 64, "M", "N"}, .dtype = "f32"};
  const auto sizes = tile.sizes(Shape{3, 64, 3, 5});
  ASSERT_TRUE(sizes);
  EXPECT_EQ(sizes->count(), 2U);
  EXPECT_EQ(sizes->find("M"), 3);
  EXPECT_EQ(sizes->find("N"), 5);
  EXPECT_EQ(sizes->find("K"), std::nullopt);
  EXPECT_THAT(*tile.shape(*sizes), ElementsAre(3, 64, 3, 5));
  EXPECT_EQ(tile_said(tile.sizes(Shape{3, 64})),
            "PTX0842 Tile('M', 64, 'M', 'N', f32): expected 4 dimensions (M, 64, M, N), got 2: "
            "(3, 64)");
  EXPECT_THAT(tile_said(tile.sizes(Shape{3, 65, 3, 5})), HasSubstr("dimension 1 is 65, not 64"));
  EXPECT_THAT(tile_said(tile.sizes(Shape{3, 64, 4, 5})),
              HasSubstr("dimension 'M' is both 3 and 4"));
  EXPECT_THAT(tile_said(tile.shape({{"K", 1}})), HasSubstr("no value for dimension 'M', 'N'"));
}

TEST(TileTest, SizesThatAreNoNumbersAreComparedByTheirOwner) {
  // -1 and -2 stand for the same unknown size, -3 for another.
  struct Rules final : SizeRules {
    bool same(std::int64_t a, std::int64_t b) const override {
      return a == b || (a < 0 && b < 0 && a > -3 && b > -3);
    }
    std::string text(std::int64_t size) const override {
      return size < 0 ? "s" + std::to_string(-size) : std::to_string(size);
    }
  } const rules;
  const Tile square{.dims = {"N", "N"}};
  EXPECT_TRUE(square.sizes(Shape{-1, -2}, rules));
  EXPECT_THAT(tile_said(square.sizes(Shape{-1, -3}, rules)), HasSubstr("both s1 and s3"));
  EXPECT_FALSE(square.sizes(Shape{-1, -2}));
}

TEST(TileTest, OperandsOfWgmmaGetTheWidestSwizzleThatFits) {
  const auto wide = Tile::wgmma_a("M", "K", "bf16");
  ASSERT_TRUE(wide);
  EXPECT_EQ(wide->layout, TileLayout::Swizzle128);
  EXPECT_THAT(wide->box, ElementsAre(64, 64));
  const auto narrow = Tile::wgmma_b(16, 32, "bf16");
  EXPECT_EQ(narrow->layout, TileLayout::Swizzle64);
  EXPECT_THAT(narrow->box, ElementsAre(16, 32));
  const auto several = Tile::wgmma_a("M", "K", "e4m3", 128, 256);
  EXPECT_EQ(several->layout, TileLayout::Swizzle128);
  EXPECT_THAT(several->box, ElementsAre(128, 128));
  EXPECT_EQ(Tile::wgmma_a("M", "K", "f32", 128, 4)->layout, TileLayout::Row);
  EXPECT_THAT(tile_said(Tile::wgmma_b("K", "N", "T")), HasSubstr("not 'T'"));
}

TEST(TileTest, PartsThatDoNotFitEachOtherAreRefused) {
  for (const auto& [tile, why] : std::vector<std::pair<Tile, std::string>>{
           {{.dims = {-1}}, "dimension -1 is negative"},
           {{.dims = {"2x"}}, "dimension '2x' is not a name"},
           {{.dims = {4}, .map_rank = 4}, "tma_rank is 4; it is 2"},
           {{.dims = {4}, .map_rank = 3}, "tma_rank=3 views a matrix; Tile(4, tma_rank=3) has 1"},
           {{.dims = {4, 4}, .padded = true}, "tma_padding pads the view of tma_rank=3"},
           {{.dims = {4}, .box = {4, 4}}, "tma_box (4, 4) has 2 edges; the tile has 1"}}) {
    EXPECT_THAT(tile_said(tile.check()), HasSubstr("PTX0855 " + why));
  }
  EXPECT_TRUE((Tile{.dims = {4, "N_2"}, .box = {4, 4}, .map_rank = 3, .padded = true}.check()));
}

TEST(TileTest, ElementsAreThoseOfTheTypeOrOfItsWidth) {
  EXPECT_TRUE(accepts("f32", "f32"));
  EXPECT_TRUE(accepts("tf32", "f32"));
  EXPECT_TRUE(accepts("b32", "s32"));
  EXPECT_TRUE(accepts("b8", "e4m3"));
  EXPECT_FALSE(accepts("f32", "tf32"));
  EXPECT_FALSE(accepts("b32", "bf16"));
  EXPECT_FALSE(accepts("bf16", "f16"));
  EXPECT_FALSE(accepts("b", "b8"));
  EXPECT_EQ(tensor_bytes("bf16", Shape{3, 5}), 30U);
  EXPECT_EQ(tensor_bytes("f64", Shape{}), 8U);
  EXPECT_EQ(tensor_bytes("e4m3", Shape{7, 0}), 0U);
  EXPECT_EQ(tensor_bytes("e2m1", Shape{3}), 2U);  // packed
  EXPECT_EQ(framework_name("b32"), "uint32");
  EXPECT_EQ(framework_name("complex64"), "complex64");
}

TEST(TileTest, AMapIsOfTheInnermostDimensionFirst) {
  const auto map = Tile{.dims = {"M", "N"}, .dtype = "bf16", .layout = TileLayout::Swizzle128}.map(
      Shape{512, 256}, "bf16");
  ASSERT_TRUE(map) << map.error();
  EXPECT_EQ(map->rank, 2);
  EXPECT_THAT(map->dims, ElementsAre(256, 512, 0, 0, 0));
  EXPECT_THAT(map->strides, ElementsAre(512, 0, 0, 0));
  EXPECT_THAT(map->box, ElementsAre(64, 64, 0, 0, 0));  // 128 bytes wide
  EXPECT_EQ(map->swizzle, layout::Swizzle::B128);
  EXPECT_EQ(map->problem(0), std::nullopt);

  const auto columns =
      Tile{.dims = {8, 32}, .dtype = "f32", .layout = TileLayout::Column, .box = {8, 16}}.map(
          Shape{8, 32}, "f32");
  EXPECT_THAT(columns->dims, ElementsAre(8, 32, 0, 0, 0));
  EXPECT_THAT(columns->box, ElementsAre(8, 16, 0, 0, 0));
}

TEST(TileTest, AViewOfRankThreeHasBoxesWiderThanTheSwizzle) {
  Tile tile{.dims = {"M", "K"},
            .dtype = "bf16",
            .layout = TileLayout::Swizzle128,
            .box = {32, 128},
            .map_rank = 3};
  EXPECT_THAT(tile.map(Shape{96, 256}, "bf16")->box, ElementsAre(64, 32, 2, 0, 0));
  EXPECT_THAT(tile.map(Shape{96, 256}, "bf16")->dims, ElementsAre(64, 96, 4, 0, 0));
  tile.padded = true;
  EXPECT_THAT(tile.map(Shape{96, 256}, "bf16")->box, ElementsAre(72, 32, 2, 0, 0));
  EXPECT_THAT(tile.map(Shape{96, 100}, "bf16").error(), HasSubstr("the matrix has 100, the box"));
}

TEST(TileTest, WhatHasNoMapSaysWhy) {
  const Tile tile{.dims = {"N"}};
  EXPECT_EQ(tile.map(Shape{}, "f32").error(), "a tensor map needs a dimension");
  EXPECT_THAT(tile.map(Shape{8}, "s4").error(), HasSubstr("no elements of type s4"));
  EXPECT_THAT(tile.map(Shape{8}, "nonsense").error(), HasSubstr("no elements of type nonsense"));
  EXPECT_THAT(tile.map(Shape{1, 1, 1, 1, 1, 1}, "f32").error(), HasSubstr("at most 5"));
  EXPECT_THAT((Tile{.dims = {8}, .box = {-8}}.map(Shape{8}, "f32").error()),
              HasSubstr("no edge of -8"));
}

Signature copy_of(const Tile& in, const Tile& out) {
  return {.kernel = "copy", .inputs = {{"X", in}}, .outputs = {{"Y", out}}};
}

TEST(SignatureTest, DeclarationsAreJudgedBeforeThereIsACall) {
  const Tile vector{.dims = {"N"}, .dtype = "f32"};
  Signature signature = copy_of(vector, vector);
  EXPECT_TRUE(signature.check());
  signature.batch = "B";
  EXPECT_THAT(tile_said(signature.check()),
              HasSubstr("PTX0854 kernel 'copy': batch='B': output 'Y' has no such dimension"));
  signature.outputs[0].tile.dims = {"B"};
  EXPECT_THAT(tile_said(signature.check()),
              HasSubstr("is no dimension of an input; the named ones are N, B"));
  signature.inputs[0].tile.dims = {"B", "B"};
  EXPECT_THAT(tile_said(signature.check()), HasSubstr("is twice in 'X', Tile('B', 'B', f32)"));
  signature = copy_of(vector, {.dims = {"N"}});
  EXPECT_THAT(tile_said(signature.check()), HasSubstr("output 'Y' needs an element type"));
  signature = copy_of(vector, vector);
  signature.scalars = {{"u33", "n"}};
  EXPECT_THAT(tile_said(signature.check()),
              HasSubstr("raw parameter 'n' has type 'u33', expected"));
  signature = copy_of(vector, {.dims = {-4}, .dtype = "f32"});
  EXPECT_THAT(tile_said(signature.check()), HasSubstr("PTX0855 dimension -4 is negative"));
}

TEST(SignatureTest, FactsComeFromTheTiles) {
  const Tile in{.dims = {"N"}, .dtype = "f32"};
  const Signature signature = copy_of(in, {.dims = {"M", "N"}, .dtype = "bf16"});
  const auto facts = signature.facts({{"N", 3}, {"M", 2}});
  ASSERT_TRUE(facts);
  EXPECT_THAT(facts->shapes, ElementsAre(Shape{3}, Shape{2, 3}));
  EXPECT_THAT(facts->dtypes, ElementsAre("f32", "bf16"));
  EXPECT_EQ(tile_said(signature.facts()),
            "PTX0850 kernel 'copy': argument 'X' is known by its Tile alone, so its shape must be: "
            "Tile('N', f32): no value for dimension 'N'; give it by keyword");
  EXPECT_THAT(tile_said(signature.output_shapes({{"N", 3}})),
              HasSubstr("output 'Y': Tile('M', 'N', bf16): no value for dimension 'M'; no input"));
  EXPECT_THAT(tile_said(copy_of({.dims = {4}}, in).facts({{"N", 3}})),
              HasSubstr("which has no element type"));
}

}  // namespace
}  // namespace pyptx::interop
