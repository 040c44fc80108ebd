// SPDX-License-Identifier: Apache-2.0
//
// Strides that a launch brings: what they say of memory, what calls are refused, what maps get.
#include "pyptx/interop/strides.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <set>
#include <string>
#include <vector>

#include "pyptx/interop/bind.h"
#include "pyptx/interop/signature.h"

namespace pyptx::interop {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

template <typename T>
std::string strides_said(const diag::Result<T>& result) {
  return result ? "nothing" : std::string(result.error().code()) + " " + result.error().message();
}

/// The bytes of every element, by going through all indices.
std::multiset<std::uint64_t> bytes_of(std::uint64_t address, const Shape& shape,
                                      const Shape& strides, std::uint64_t element) {
  std::multiset<std::uint64_t> out;
  Shape index(shape.size(), 0);
  if (std::ranges::count(shape, 0) != 0) return out;
  while (true) {
    std::uint64_t place = address;
    for (std::size_t i = 0; i < shape.size(); ++i) {
      place += static_cast<std::uint64_t>(index[i] * strides[i]) * element;
    }
    for (std::uint64_t byte = 0; byte < element; ++byte) out.insert(place + byte);
    std::size_t axis = shape.size();
    while (axis-- > 0) {
      if (++index[axis] < shape[axis]) break;
      index[axis] = 0;
    }
    if (axis == static_cast<std::size_t>(-1)) return out;
  }
}

TEST(StridesTest, DenseAndSettled) {
  EXPECT_THAT(dense_strides(Shape{4, 3, 2}), ElementsAre(6, 2, 1));
  EXPECT_THAT(dense_strides(Shape{}), ElementsAre());
  EXPECT_THAT(row_strides(Shape{4, 8}, Shape{}), ElementsAre(8, 1));
  EXPECT_THAT(row_strides(Shape{4, 8}, Shape{16, 1}), ElementsAre(16, 1));
  EXPECT_THAT(row_strides(Shape{1, 8}, Shape{99, 1}), ElementsAre(8, 1));
  EXPECT_THAT(row_strides(Shape{4, 1, 8}, Shape{64, 99, 1}), ElementsAre(64, 8, 1));
  EXPECT_THAT(row_strides(Shape{0, 8}, Shape{99, 1}), ElementsAre(8, 1));
  EXPECT_EQ(spanned_elements(Shape{4, 8}, Shape{16, 1}), 3 * 16 + 8);
  EXPECT_EQ(spanned_elements(Shape{0, 8}, Shape{16, 1}), 0);
  EXPECT_EQ(spanned_elements(Shape{}, Shape{}), 1);
}

TEST(StridesTest, WhatIsSaidOfMemoryHoldsForEveryElement) {
  std::mt19937 random(1);
  const auto pick = [&](int most) { return static_cast<std::int64_t>(random() % (most + 1)); };
  int distinct = 0;
  int apart = 0;
  for (int round = 0; round < 4000; ++round) {
    struct Picked {
      std::uint64_t address;
      Shape shape;
      Shape strides;
      std::multiset<std::uint64_t> bytes;
    };
    std::vector<Picked> arrays;
    for (int i = 0; i < 2; ++i) {
      const Shape shape{1 + pick(2), 1 + pick(3), 1 + pick(3)};
      const Shape strides{pick(24), pick(12), 1};
      const auto address = 4096 + static_cast<std::uint64_t>(pick(30)) * 4;
      arrays.push_back({address, shape, strides, bytes_of(address, shape, strides, 4)});
    }
    const auto& [one, other] = std::tie(arrays[0], arrays[1]);
    const std::set<std::uint64_t> once(one.bytes.begin(), one.bytes.end());
    // What is called distinct is; nested dimensions, which slices have, are called so.
    if (are_distinct(one.shape, one.strides)) {
      ++distinct;
      EXPECT_EQ(once.size(), one.bytes.size());
    }
    if (!share_memory(one.address, ByteRows::of(one.shape, one.strides, 4), other.address,
                      ByteRows::of(other.shape, other.strides, 4))) {
      ++apart;
      for (const std::uint64_t byte : other.bytes) EXPECT_FALSE(once.contains(byte));
    }
    EXPECT_EQ(ByteRows::of(one.shape, one.strides, 4).bytes, *once.rbegin() + 1 - one.address);
  }
  EXPECT_GT(distinct, 400);
  EXPECT_GT(apart, 400);
}

TEST(StridesTest, SlicesAreDistinctAndHalvesApart) {
  EXPECT_TRUE(are_distinct(Shape{4, 8}, Shape{16, 1}));
  EXPECT_TRUE(are_distinct(Shape{4, 6, 8}, Shape{8, 32, 1}));  // transposed
  EXPECT_TRUE(are_distinct(Shape{1, 8}, Shape{0, 1}));
  EXPECT_FALSE(are_distinct(Shape{4, 8}, Shape{7, 1}));
  EXPECT_FALSE(are_distinct(Shape{4, 8}, Shape{0, 1}));
  const ByteRows half = ByteRows::of(Shape{4, 8}, Shape{16, 1}, 4);
  EXPECT_FALSE(share_memory(4096, half, 4096 + 32, half));
  EXPECT_FALSE(share_memory(4096 + 32, half, 4096, half));
  EXPECT_TRUE(share_memory(4096, half, 4096 + 28, half));
  EXPECT_TRUE(share_memory(4096, half, 4096 + 36, half));
  EXPECT_TRUE(share_memory(4096, half, 4096 + 32, ByteRows::dense(128)));
  EXPECT_FALSE(share_memory(4096, half, 4096 + 1024, half));
  EXPECT_FALSE(share_memory(4096, ByteRows::dense(0), 4096, half));
}

Signature strided_signature() {
  const Tile tile{.dims = {"M", 8}, .dtype = "f32", .strided = true};
  return {.kernel = "rows", .inputs = {{"X", tile}}, .outputs = {{"Y", tile}}};
}

Array strided_array(std::vector<double> strides, Shape shape = {4, 8}) {
  return {.shape = std::move(shape),
          .dtype = "f32",
          .strides = std::move(strides),
          .pointer = 4096,
          .bytes = 128};
}

TEST(StridesTest, CallsMayHaveRowsThatLieApart) {
  const Signature signature = strided_signature();
  ASSERT_TRUE(signature.check());
  const auto said = [&](Array array) {
    return strides_said(bind_inputs(signature, std::vector{std::move(array)}));
  };
  for (const double stride : {8.0, 16.0, 0.0, 3.0}) {
    EXPECT_EQ(said(strided_array({stride, 1})), "nothing") << stride;
  }
  EXPECT_EQ(said(strided_array({5, 1}, {1, 8})), "nothing");
  EXPECT_EQ(said(strided_array({1, 2}, {0, 8})), "nothing");
  EXPECT_EQ(said(strided_array({16, 2})),
            "PTX0846 kernel 'rows': argument 'X' has strides (16, 2) for shape (4, 8), expected a "
            "row-wise contiguous tensor; call .contiguous() on it (NumPy: np.ascontiguousarray)");
  EXPECT_THAT(said(strided_array({-8, 1})), HasSubstr("PTX0846"));
  EXPECT_THAT(said(strided_array({8.5, 1})), HasSubstr("PTX0846"));
  Bound bound{{{"M", 4}}};
  EXPECT_TRUE(bind_outputs(signature, std::vector{strided_array({16, 1})}, bound, "cpu"));
  EXPECT_THAT(
      strides_said(bind_outputs(signature, std::vector{strided_array({4, 1})}, bound, "cpu")),
      HasSubstr("its elements share memory, so it cannot be written"));
}

TEST(StridesTest, TilesWithoutRowsAreRefused) {
  EXPECT_EQ((Tile{.dims = {"M", 8}, .dtype = "f32", .strided = true}.text()),
            "Tile('M', 8, f32, strides='dynamic')");
  EXPECT_THAT(strides_said(Tile{.dims = {"M"}, .dtype = "f32", .strided = true}.check()),
              HasSubstr("has less than two dimensions"));
  EXPECT_THAT(strides_said(Tile{
                  .dims = {"M", 8}, .dtype = "f32", .layout = TileLayout::Column, .strided = true}
                               .check()),
              HasSubstr("has columns"));
}

TEST(StridesTest, MapsHaveThem) {
  const Tile tile{.dims = {"M", 64}, .dtype = "bf16", .strided = true};
  const auto flat = tile.map(Shape{4, 64}, "bf16", Shape{192, 1});
  EXPECT_EQ(flat->strides[0], 384);
  EXPECT_EQ(tile.map(Shape{4, 64}, "bf16")->strides[0], 128);
  // One row has no stride, but its number in the descriptor keeps the rules.
  EXPECT_EQ((Tile{.dims = {1, 20}, .dtype = "bf16", .strided = true}
                 .map(Shape{1, 20}, "bf16", Shape{20, 1})
                 ->strides[0]),
            48);
  const Tile view{.dims = {"M", 128}, .dtype = "bf16", .map_rank = 3, .strided = true};
  EXPECT_THAT(view.map(Shape{4, 128}, "bf16", Shape{512, 1})->strides,
              ElementsAre(1024, 128, 0, 0));
  Signature signature = strided_signature();
  Facts facts{{{4, 8}, {4, 8}}, {"f32", "f32"}, {{12, 1}, {}}};
  EXPECT_EQ(signature.map(0, facts)->strides[0], 48);
  EXPECT_EQ(signature.map(1, facts)->strides[0], 32);
  facts.strides[0] = {9, 1};
  EXPECT_THAT(strides_said(signature.map(0, facts)), HasSubstr("36"));
}

}  // namespace
}  // namespace pyptx::interop
