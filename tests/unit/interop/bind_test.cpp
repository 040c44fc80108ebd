// SPDX-License-Identifier: Apache-2.0
//
// Arrays against the declaration of a kernel, and the rendering of each refusal
// (tests/files/diagnostics/bind).
#include "pyptx/interop/bind.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "golden.h"
#include "pyptx/interop/compose.h"
#include "pyptx/interop/launch_limits.h"

namespace pyptx::interop {
namespace {

using diag::Kind;
using testing::ElementsAre;
using testing::HasSubstr;

/// Z = f(X, Y) over (M, N), and one number for each row.
Signature row_kernel() {
  const Tile matrix{.dims = {"M", "N"}, .dtype = "f32"};
  return {.kernel = "rows",
          .inputs = {{"X", matrix}, {"Y", {.dims = {"N"}, .dtype = "b32"}}},
          .outputs = {{"Z", matrix}, {"S", {.dims = {"M"}, .dtype = "f32"}}}};
}

Array array(Shape shape, std::string dtype = "f32", std::uint64_t pointer = 4096) {
  const std::uint64_t bytes = tensor_bytes(dtype, shape);
  return {.shape = std::move(shape), .dtype = std::move(dtype), .pointer = pointer, .bytes = bytes};
}

template <typename T>
std::string bind_said(const diag::Result<T>& result) {
  return result ? "nothing" : std::string(result.error().code()) + " " + result.error().message();
}

std::string inputs_said(const std::vector<Array>& arrays) {
  return bind_said(bind_inputs(row_kernel(), arrays));
}

std::string outputs_said(const std::vector<Array>& arrays) {
  Bound bound{{{"M", 4}, {"N", 8}}};
  return bind_said(bind_outputs(row_kernel(), arrays, bound, "cpu"));
}

TEST(BindTest, InputsGiveTheDimensionsTheirValues) {
  const Array arrays[] = {array({4, 8}), array({8}, "s32")};
  const auto bound = bind_inputs(row_kernel(), arrays);
  ASSERT_TRUE(bound) << bound.error().message();
  EXPECT_THAT(std::vector(bound->sizes.begin(), bound->sizes.end()),
              ElementsAre(Sizes::Row{"M", 4}, Sizes::Row{"N", 8}));
}

TEST(BindTest, MultiplesAreHeldTo) {
  Signature signature = row_kernel();
  signature.multiples = {{"M", 4}, {"N", 1}};
  ASSERT_TRUE(signature.check());
  const auto said = [&](std::int64_t rows) {
    const Array arrays[] = {array({rows, 8}), array({8})};
    return bind_said(bind_inputs(signature, arrays));
  };
  EXPECT_EQ(said(8), "nothing");
  EXPECT_EQ(said(-1), "nothing");  // not known yet
  EXPECT_EQ(said(6),
            "PTX0872 kernel 'rows': argument 'X' has shape (6, 8), so M = 6, but multiple_of says "
            "that M is a multiple of 4");
  signature.multiples = {{"K", 4}};
  EXPECT_THAT(signature.check().error().message(),
              HasSubstr("multiple_of={'K': 4} names no dimension; the named ones are M, N"));
  signature.multiples = {{"M", 0}};
  EXPECT_THAT(signature.check().error().message(), HasSubstr("is no number of 1 or more"));
}

TEST(BindTest, InputsThatDoNotFitAreNamed) {
  EXPECT_EQ(inputs_said({array({4, 8})}), "PTX0840 kernel 'rows' takes 2 inputs (X, Y), got 1");
  EXPECT_THAT(inputs_said({array({4, 8}), array({8}), array({4, 8}), array({4})}),
              HasSubstr("got 4; outputs are passed as out="));
  EXPECT_EQ(inputs_said({array({4, 8}, "f64"), array({8})}),
            "PTX0841 kernel 'rows': argument 'X' has dtype float64 (f64), expected float32 (f32); "
            "convert it, or change the Tile");
  EXPECT_EQ(inputs_said({array({4, 8}), array({9})}),
            "PTX0844 kernel 'rows': argument 'Y' has shape (9,), so N = 9, but argument 'X' gave "
            "N = 8");
  EXPECT_THAT(inputs_said({array({4}), array({8})}),
              HasSubstr("argument 'X': expected 2 dimensions (M, N), got 1: (4,)"));
  Array strided = array({4, 8});
  strided.strides = {16, 1.5};
  EXPECT_THAT(inputs_said({strided, array({8})}),
              HasSubstr("has strides (16, 1.5) for shape (4, 8), expected a contiguous tensor"));
  Array elsewhere = array({8});
  elsewhere.device = "cuda:0";
  EXPECT_THAT(inputs_said({array({4, 8}), elsewhere}),
              HasSubstr("'Y' is on cuda:0, but argument 'X' is on cpu; move one of them"));
}

TEST(BindTest, StridesOfWhatHasOneElementAreFree) {
  Array row = array({1, 8});
  row.strides = {3, 1};
  EXPECT_EQ(inputs_said({row, array({8})}), "nothing");
  Array empty = array({0, 8});
  empty.strides = {5, 5};
  EXPECT_EQ(inputs_said({empty, array({8})}), "nothing");

  Signature columns = row_kernel();
  columns.inputs[0].tile.layout = TileLayout::Column;
  Array dense = array({4, 8});
  dense.strides = {1, 4};
  EXPECT_EQ(bind_said(bind_inputs(columns, std::vector{dense, array({8})})), "nothing");
  dense.strides = {8, 1};
  EXPECT_THAT(bind_said(bind_inputs(columns, std::vector{dense, array({8})})),
              HasSubstr("expected a column-major (Layout.COL) tensor; x.mT.contiguous().mT"));
}

TEST(BindTest, OutputsAreHeldToTheInputs) {
  EXPECT_EQ(outputs_said({array({4, 8}, "f32", 4096), array({4}, "f32", 8192)}), "nothing");
  EXPECT_EQ(outputs_said({array({4, 8})}),
            "PTX0840 kernel 'rows' has 2 outputs (Z, S), out= has 1");
  EXPECT_THAT(outputs_said({array({4, 9}), array({4})}),
              HasSubstr("output 'Z' has shape (4, 9), so N = 9, but the inputs gave N = 8"));
  Array elsewhere = array({4, 8});
  elsewhere.device = "meta";
  EXPECT_THAT(outputs_said({elsewhere, array({4})}),
              HasSubstr("output 'Z' is on meta, the inputs are on cpu; make it there"));
  EXPECT_EQ(outputs_said({array({4, 8}, "f32", 4096), array({4}, "f32", 4096 + 124)}),
            "PTX0848 kernel 'rows': outputs 'Z' and 'S' share memory; give each its own tensor");
  EXPECT_EQ(outputs_said({array({4, 8}, "f32", 4096), array({4}, "f32", 4096 + 128)}), "nothing");
  EXPECT_EQ(outputs_said({array({4, 8}, "f32", 4096), array({4}, "f32", 4096 - 16)}), "nothing");
  EXPECT_THAT(outputs_said({array({4, 8}, "f32", 4096), array({4}, "f32", 4096 - 12)}),
              HasSubstr("'Z' and 'S' share"));
}

TEST(BindTest, WhatOnlyOutputsHaveIsAddedAndHeldTo) {
  Signature signature = row_kernel();
  signature.outputs = {{"Z", {.dims = {"K"}, .dtype = "f32"}},
                       {"S", {.dims = {"K"}, .dtype = "f32"}}};
  Bound bound{{{"N", 8}}};
  const Array fits[] = {array({3}), array({3}, "f32", 8192)};
  EXPECT_TRUE(bind_outputs(signature, fits, bound, "cpu"));
  EXPECT_EQ(bound.sizes.find("K"), 3);
  Bound again{{{"N", 8}}};
  const Array differ[] = {array({3}), array({4}, "f32", 8192)};
  EXPECT_THAT(bind_said(bind_outputs(signature, differ, again, "cpu")),
              HasSubstr("so K = 4, but output 'Z' gave K = 3"));
}

TEST(BindTest, ABoundKernelTakesWhatItWasBoundTo) {
  const SavedTensor inputs[] = {{"X", "f32", {4, 8}, 128, false}};
  const SavedTensor outputs[] = {{"Z", "f32", {4, 8}, 128, false}, {"S", "f32", {4}, 16, false}};
  const std::uint32_t mapped[] = {0};
  BoundTo bound{.kernel = "rows", .inputs = inputs, .outputs = outputs, .mapped = mapped};
  const auto check = [&](const std::vector<Array>& in, const std::vector<Array>& out) {
    return bind_said(check_bound(bound, in, std::span<const Array>(out)));
  };
  const std::vector<Array> out = {array({4, 8}, "f32", 8192), array({4}, "f32", 16384)};
  EXPECT_EQ(check({array({4, 8})}, out), "nothing");
  const std::vector<Array> in = {array({4, 8})};
  EXPECT_EQ(bind_said(check_bound(bound, in, std::nullopt)), "nothing");
  EXPECT_THAT(check({}, out), HasSubstr("bound kernel 'rows' has 1 input (X), got 0"));
  EXPECT_THAT(check({array({4, 8})}, {}), HasSubstr("has 2 outputs (Z, S), got 0"));
  EXPECT_THAT(check({array({4, 8}, "f64")}, out),
              HasSubstr("'X' has dtype f64, it was bound to f32; bind the kernel"));
  EXPECT_THAT(check({array({4, 9})}, out),
              HasSubstr("PTX0853 bound kernel 'rows': argument 'X' has shape (4, 9), it was bound "
                        "to (4, 8); bind"));
  EXPECT_THAT(check({array({4, 8}, "f32", 4100)}, out),
              HasSubstr("'X' starts at address 0x1004, but its TMA descriptor needs a multiple of "
                        "16 bytes"));
  EXPECT_THAT(check({array({4, 8})}, {out[0], array({4}, "f32", 8192)}), HasSubstr("share memory"));
  bound.device = "cuda:0";
  EXPECT_THAT(check({array({4, 8})}, out),
              HasSubstr("'X' is on cpu, it was bound to cuda:0; move it, or bind there too"));
}

TEST(BindTest, AnEmptyGridIsForOutputsWithoutElements) {
  const Signature signature = row_kernel();
  EXPECT_TRUE(check_empty_grid(signature, {1, 1, 1}, std::vector<Shape>{{4, 8}}));
  EXPECT_TRUE(check_empty_grid(signature, {0, 1, 1}, std::vector<Shape>{{0, 8}}));
  EXPECT_EQ(bind_said(check_empty_grid(signature, {0, 1, 1}, std::vector<Shape>{{4, 8}, {4}})),
            "PTX0852 kernel 'rows': the grid is (0, 1, 1), which launches nothing, but the outputs "
            "have elements: (4, 8), (4,)");
}

TEST(LimitsTest, BlocksAndClustersAreThoseOfSomeTarget) {
  const std::string_view what = "kernel 'k':";
  EXPECT_TRUE(check_block(what, {1024, 1, 1}));
  EXPECT_EQ(bind_said(check_block(what, {0, 1, 1})),
            "PTX0855 kernel 'k': block (0, 1, 1) has no threads");
  EXPECT_THAT(bind_said(check_block(what, {1024, 2, 1})),
              HasSubstr("has 2048 threads; a block has at"));
  EXPECT_THAT(bind_said(check_block(what, {1, 1, 128})), HasSubstr("is at most (1024, 1024, 64)"));
  EXPECT_FALSE(check_block(what, {std::int64_t{1} << 40, std::int64_t{1} << 40, 1}));
  EXPECT_TRUE(check_cluster(what, {16, 1, 1}));
  EXPECT_THAT(bind_said(check_cluster(what, {17, 1, 1})),
              HasSubstr("has 17 CTAs, expected 1 to 16"));
  EXPECT_TRUE(check_shared(what, "sm_90a", 227 * 1024));
  EXPECT_TRUE(check_shared(what, "no_target", 1 << 30));
  EXPECT_EQ(bind_said(check_shared(what, "sm_90a", 227 * 1024 + 1)),
            "PTX0308 kernel 'k': 232449 bytes of shared memory, but a CTA of sm_90a has at most "
            "232448; use smaller tiles or fewer stages");
}

TEST(BindTest, EachRefusalIsShown) {
  golden::Folder goldens("bind");
  const auto shows = [&](const auto& result) {
    ASSERT_FALSE(result);
    goldens.expect(result.error());
  };
  const Signature rows = row_kernel();
  const auto inputs = [&](const std::vector<Array>& arrays) { shows(bind_inputs(rows, arrays)); };
  const auto outputs = [&](const std::vector<Array>& arrays) {
    Bound bound{{{"M", 4}, {"N", 8}}};
    shows(bind_outputs(rows, arrays, bound, "cpu"));
  };
  inputs({array({4, 8})});
  inputs({array({4, 8}, "f64"), array({8})});
  inputs({array({4}), array({8})});
  inputs({array({4, 8}), array({9})});
  Array strided = array({4, 8});
  strided.strides = {16, 1};
  inputs({strided, array({8})});
  Array elsewhere = array({8});
  elsewhere.device = "cuda:0";
  inputs({array({4, 8}), elsewhere});
  outputs({array({4, 8}), array({4})});
  Signature promised = row_kernel();
  promised.multiples = {{"M", 8}};
  const Array odd[] = {array({4, 8}), array({8})};
  shows(bind_inputs(promised, odd));
  shows(Tile{.dims = {16}, .dtype = "f32"}.sizes(Shape{8}));
  shows(Tile{.dims = {"N", "N"}, .dtype = "f32"}.sizes(Shape{3, 4}));
  shows(rows.output_shapes({{"N", 8}}));
  shows(check_mapped("rows", "X", 4100));
  shows(check_empty_grid(rows, {0, 1, 1}, std::vector<Shape>{{4, 8}}));
  shows(rows.map(0, {{{4, 7}, {7}, {4, 7}, {4}}, {"f32", "f32", "f32", "f32"}}));
  const SavedTensor bound[] = {{"X", "f32", {4, 8}, 128, false}};
  const std::vector<Array> other = {array({4, 9})};
  shows(check_bound({.kernel = "rows", .inputs = bound, .outputs = {}}, other, std::nullopt));
  Signature declared = rows;
  declared.outputs[0].tile.dtype.clear();
  shows(declared.check());
  shows(check_block("kernel 'rows':", {2048, 1, 1}));
  shows(check_shared("kernel 'rows':", "sm_90a", 300'000));
  const auto module = *read_module(
      ".version 8.0\n.target sm_80\n.address_size 64\n.entry rows()\n.reqntid 32\n{\nret;\n}\n");
  shows(check_directives("kernel 'rows':", {64, 1, 1}, *module, *module->entry("rows")));
  goldens.expect_complete();
}

}  // namespace
}  // namespace pyptx::interop
