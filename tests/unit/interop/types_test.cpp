// SPDX-License-Identifier: Apache-2.0
//
// Named element types: what tiles, arrays and signatures say of them.
#include "pyptx/interop/types.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "pyptx/interop/bind.h"
#include "pyptx/interop/signature.h"

namespace pyptx::interop {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

template <typename T>
std::string types_said(const diag::Result<T>& result) {
  return result ? "nothing" : std::string(result.error().code()) + " " + result.error().message();
}

Array typed_array(std::string dtype) {
  return {.shape = {4}, .dtype = std::move(dtype), .pointer = 4096, .bytes = 16};
}

/// (T, T) -> (T, R).
Signature typed_signature() {
  const Tile t{.dims = {"N"}, .dtype = "T"};
  return {.kernel = "typed",
          .inputs = {{"X", t}, {"Y", t}},
          .outputs = {{"Z", t}, {"S", {.dims = {"N"}, .dtype = "R"}}}};
}

TEST(TypesTest, NamesBeginWithACapitalLetter) {
  EXPECT_TRUE(is_type_name("T"));
  EXPECT_TRUE(is_type_name("Weights"));
  for (const char* other : {"", "f32", "t", "bf16"}) EXPECT_FALSE(is_type_name(other)) << other;
  const Types types{{"T", "bf16"}};
  EXPECT_EQ(types.resolve("f32"), "f32");
  EXPECT_EQ(types.resolve("T"), "bf16");
  EXPECT_EQ(types.resolve("R"), std::nullopt);
}

TEST(TypesTest, TilesAreJudged) {
  EXPECT_EQ((Tile{.dims = {"N", 4}, .dtype = "T"}.text()), "Tile('N', 4, dtype='T')");
  EXPECT_TRUE((Tile{.dims = {"N"}, .dtype = "T"}.check()));
  for (const char* wrong : {"F32", "BF16", "nonsense", "T-1", "t"}) {
    EXPECT_THAT(types_said(Tile{.dims = {"N"}, .dtype = wrong}.check()),
                HasSubstr("a name for one, which begins with a capital letter"))
        << wrong;
  }
}

TEST(TypesTest, InputsBringThemAndAgree) {
  const Signature signature = typed_signature();
  ASSERT_TRUE(signature.check());
  const auto bound = bind_inputs(signature, std::vector{typed_array("f16"), typed_array("f16")});
  ASSERT_TRUE(bound) << bound.error().message();
  EXPECT_THAT(std::vector(bound->types.begin(), bound->types.end()),
              ElementsAre(Types::Row{"T", "f16"}));
  EXPECT_EQ(types_said(bind_inputs(signature, std::vector{typed_array("f16"), typed_array("f32")})),
            "PTX0841 kernel 'typed': argument 'Y' has dtype float32 (f32), but argument 'X' gave T "
            "= float16 (f16); convert one of them");
  EXPECT_THAT(types_said(bind_inputs(
                  signature, std::vector{typed_array("complex64"), typed_array("complex64")})),
              HasSubstr("and PTX has no such type for T"));
}

TEST(TypesTest, OutputsHaveThemOrBringThem) {
  const Signature signature = typed_signature();
  Bound bound{{{"N", 4}}, {{"T", "f16"}}};
  EXPECT_THAT(types_said(signature.output_types(bound.types)),
              HasSubstr("PTX0857 kernel 'typed' needs the element type R of 'S'"));
  EXPECT_THAT(*signature.output_types({{"T", "f16"}, {"R", "f32"}}), ElementsAre("f16", "f32"));
  Array other = typed_array("f32");
  other.pointer = 8192;
  EXPECT_THAT(
      types_said(bind_outputs(signature, std::vector{typed_array("f32"), other}, bound, "cpu")),
      HasSubstr("output 'Z' has dtype float32 (f32), but the inputs gave T = float16"));
  ASSERT_TRUE(bind_outputs(signature, std::vector{typed_array("f16"), other}, bound, "cpu"));
  EXPECT_EQ(bound.types.find("R"), "f32");
}

TEST(TypesTest, FactsOfTilesNeedThem) {
  const Signature signature = typed_signature();
  EXPECT_THAT(types_said(signature.facts({{"N", 4}}, {{"T", "f16"}})), HasSubstr("type R of 'S'"));
  const auto facts = signature.facts({{"N", 4}}, {{"T", "f16"}, {"R", "s8"}});
  ASSERT_TRUE(facts);
  EXPECT_THAT(facts->dtypes, ElementsAre("f16", "f16", "f16", "s8"));
}

TEST(TypesTest, ANameIsOneThing) {
  Signature signature = typed_signature();
  signature.scalars = {{"u32", "T"}};
  EXPECT_THAT(types_said(signature.check()), HasSubstr("is the name of a raw parameter too"));
  signature = typed_signature();
  signature.inputs[0].name = "R";
  EXPECT_THAT(types_said(signature.check()), HasSubstr("is the name of a tensor too"));
  signature = typed_signature();
  signature.inputs[0].tile.dims = {"R"};
  EXPECT_THAT(types_said(signature.check()), HasSubstr("is the name of a dimension too"));
}

TEST(TypesTest, UnsignedTilesTakeSignedArraysOfTheirWidth) {
  for (const char* bits : {"8", "16", "32", "64"}) {
    const std::string u = std::string("u") + bits;
    const std::string s = std::string("s") + bits;
    EXPECT_TRUE(accepts(u, s));
    EXPECT_FALSE(accepts(s, u));
  }
  EXPECT_FALSE(accepts("u32", "s64"));
  EXPECT_FALSE(accepts("u32", "f32"));
  EXPECT_FALSE(accepts("ue8m0", "s8"));
}

TEST(PartialTest, ASumOverTheBatchHasABatch) {
  Signature signature{.kernel = "sums",
                      .inputs = {{"X", {.dims = {"B", 4}, .dtype = "f32"}}},
                      .outputs = {{"Y", {.dims = {4}, .dtype = "f32", .partial = "B"}}},
                      .batch = "B"};
  EXPECT_TRUE(signature.check());
  EXPECT_EQ(signature.outputs[0].tile.text(), "Tile(4, f32, partial='B')");
  signature.batch.clear();
  EXPECT_THAT(types_said(signature.check()), HasSubstr("say kernel(batch='B') too"));
  signature.batch = "B";
  signature.outputs[0].tile.partial.clear();
  EXPECT_THAT(types_said(signature.check()), HasSubstr("say partial='B' if it is a sum"));
  signature.outputs[0].tile = {.dims = {"B"}, .dtype = "f32", .partial = "B"};
  EXPECT_THAT(types_said(signature.check()), HasSubstr("a sum over the batch has none of it"));
  signature.inputs[0].tile.partial = "B";
  EXPECT_THAT(types_said(signature.check()), HasSubstr("is said of outputs alone"));
}

}  // namespace
}  // namespace pyptx::interop
