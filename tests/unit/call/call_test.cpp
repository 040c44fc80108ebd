// SPDX-License-Identifier: Apache-2.0
//
// Kernels that are declared and called, on views of host memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "golden.h"
#include "kernels.h"
#include "pyptx/diag/render.h"

namespace pyptx {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using namespace pyptx::types;

TEST(Call, AVectorIsScaled) {
  const auto scale = kernels::scale();
  for (const std::size_t size : {1U, 64U, 100U}) {
    std::vector<float> x(size, 3.0F);
    std::vector<float> y(size);
    const auto done = scale(x, out(y));
    ASSERT_TRUE(done) << diag::render(done.error(), nullptr);
    EXPECT_THAT(y, testing::Each(6.0F));
    ASSERT_TRUE(scale(x, out("Y", y), kernels::Scale{.factor = 0.5}));
    EXPECT_THAT(y, testing::Each(1.5F));
  }
}

TEST(Call, AScalarComesWithTheCallAndATensorIsReadAndWritten) {
  const auto axpy = kernels::axpy();
  std::vector<float> x(100, 1.0F);
  std::vector<float> y(100, 10.0F);
  ASSERT_TRUE(axpy(x, inout(y)));
  EXPECT_THAT(y, testing::Each(12.0F));
  ASSERT_TRUE(axpy(x, inout(y), 0.5));
  EXPECT_THAT(y, testing::Each(12.5F));
  ASSERT_TRUE(axpy(x, inout("Y", y), arg("alpha", -1)));
  EXPECT_THAT(y, testing::Each(11.5F));
}

TEST(Call, OneTraceServesSizesOfTheLaunch) {
  int traces = 0;
  const auto fill =
      kernel("fill", {Output("Y", {"N"}, u32)}, {.grid = dim("N"), .dynamic = {"N"}},
             [&](const Tensor& Y) {
               ++traces;
               const Reg i = ptx::special::ctaid.x();
               ptx::inst::st.global.u32(ptx::addr(ptx::global_ptr(Y) + reg::from(i, u64) * 4),
                                        Y.shape(0) + i);
               ptx::ret();
             });
  for (const std::uint32_t size : {3U, 7U, 3U}) {
    std::vector<std::uint32_t> y(size);
    std::vector<std::uint32_t> expected(size);
    std::iota(expected.begin(), expected.end(), size);
    ASSERT_TRUE(fill(out(y)));
    EXPECT_EQ(y, expected);
  }
  EXPECT_EQ(traces, 1);
}

TEST(Call, OutputsAreBoundByNameAndRowsMayLieApart) {
  const auto split = kernels::split();
  std::vector<std::uint32_t> x(8);
  std::iota(x.begin(), x.end(), 0x1F0);
  std::vector<std::uint32_t> low(8);
  std::vector<std::uint32_t> high(8);
  const auto done = split(host(x, {2, 4}), out("HIGH", host(high, {2, 4})), out(host(low, {2, 4})));
  ASSERT_TRUE(done) << diag::render(done.error(), nullptr);
  EXPECT_THAT(low, ElementsAre(0xF0, 0xF1, 0xF2, 0xF3, 0xF4, 0xF5, 0xF6, 0xF7));
  EXPECT_THAT(high, testing::Each(1U));
}

TEST(Call, AShapeMayBeAVector) {
  const auto split = kernels::split();
  const std::vector<std::uint32_t> x(8, 0x1F0);
  std::vector<std::uint32_t> low(8);
  std::vector<std::uint32_t> high(8);
  const std::vector<std::int64_t> shape{2, 4};
  EXPECT_EQ(host(x, shape).shape(1), 4);
  EXPECT_EQ(device(0x1000, shape, types::u32).stride(0), 4);
  ASSERT_TRUE(split(host(x, shape), out(host(low, shape)), out(host(high, std::span(shape)))));
  EXPECT_THAT(low, testing::Each(0xF0U));
}

/// What DLPack's header declares, by its names.
struct DlTensor {
  void* data;
  struct {
    int device_type, device_id;
  } device;
  std::int32_t ndim;
  struct {
    std::uint8_t code, bits;
    std::uint16_t lanes;
  } dtype;
  std::int64_t* shape;
  std::int64_t* strides;
  std::uint64_t byte_offset;
};

TEST(Call, DlpackTensorsAreRead) {
  const auto split = kernels::split();
  std::array<std::uint32_t, 16> memory{};
  std::iota(memory.begin(), memory.end(), 0x100);
  std::array<std::int64_t, 2> shape = {2, 4};
  std::array<std::int64_t, 2> strides = {8, 1};
  const DlTensor x{memory.data(), {1, 0}, 2, {1, 32, 1}, shape.data(), strides.data(), 16};
  std::vector<std::uint32_t> low(8);
  std::vector<std::uint32_t> high(8);
  ASSERT_TRUE(split(dlpack(x), out(host(low, {2, 4})), out(host(high, {2, 4}))));
  EXPECT_THAT(low, ElementsAre(4, 5, 6, 7, 12, 13, 14, 15));
  struct {
    DlTensor dl_tensor;
    std::uint64_t flags;
  } managed{x, 1};  // it may be read alone
  const auto refused = split(host(low, {2, 4}), out(dlpack(managed)), out(host(high, {2, 4})));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message(), "kernel 'split': output 'LOW' is read-only");
}

TEST(Call, AKernelWithoutTensorsAndOneWithoutOutputs) {
  const auto nothing = kernel("nothing", {}, {.block = {32}}, [] { ptx::ret(); });
  EXPECT_TRUE(nothing.emulate({}));
  const auto refused = nothing();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), "PTX0861");

  const auto clear = kernel("clear", {Input("X", {1}, u32)}, {}, [](const Tensor& X) {
    ptx::inst::st.global.u32(ptx::addr(ptx::global_ptr(X)), 7);
    ptx::ret();
  });
  std::vector<std::uint32_t> x(1);
  ASSERT_TRUE(clear(x));
  EXPECT_EQ(x[0], 7U);
  const std::vector<std::uint32_t> fixed(1);
  const auto is_const = clear(fixed);
  ASSERT_FALSE(is_const);
  EXPECT_EQ(is_const.error().code(), "PTX0860");
}

TEST(Call, ACallThatWasMetIsCheckedAsTheFirstOne) {
  const auto split = kernels::split();
  std::vector<std::uint32_t> x(8, 0x102);
  std::vector<std::uint32_t> low(8);
  std::vector<std::uint32_t> high(8);
  const auto rows = [](std::vector<std::uint32_t>& all) { return host(all, {2, 4}); };
  const auto code = [](const diag::Status& status) {
    return status ? std::string() : std::string(status.error().code());
  };
  for (int turn = 0; turn < 2; ++turn) {
    EXPECT_EQ(code(split(rows(x), out(rows(low)), out(rows(high)))), "");
    EXPECT_EQ(code(split(rows(x), out(rows(low)), out(rows(low)))), "PTX0848");
    EXPECT_EQ(code(split(rows(x), out(rows(low)), inout(rows(high)))), "PTX0859");
    EXPECT_EQ(code(split(rows(x), out(rows(low)), out(host(std::span(high).first(7), {2, 4})))),
              "PTX0860");
    std::uint32_t* nothing = nullptr;
    EXPECT_EQ(code(split(host(nothing, {2, 4}), out(rows(low)), out(rows(high)))), "PTX0708");
    EXPECT_EQ(code(split(rows(x), out(rows(low)), out(rows(high)), on(nullptr, 0))), "PTX0866");
  }
  EXPECT_THAT(low, Each(2U));
  EXPECT_THAT(high, Each(1U));

  const auto scale = kernels::scale();
  std::vector<float> one(4, 1.0F);
  std::vector<float> y(4);
  for (const double factor : {2.0, 3.0, 2.0}) {
    ASSERT_TRUE(scale(one, out(y), kernels::Scale{.factor = factor}));
    EXPECT_THAT(y, Each(static_cast<float>(factor)));
  }
}

TEST(Call, ATextIsThatOfItsSizes) {
  const auto scale = kernels::scale();
  const auto text = scale.ptx({{"N", 100}});
  ASSERT_TRUE(text) << text.error().message();
  EXPECT_THAT(*text, HasSubstr("setp.lt.u32"));
  EXPECT_THAT(*text, HasSubstr(", 100;"));
  EXPECT_NE(*text, *scale.ptx({{"N", 100}}, {.factor = 3.0}));
  const auto misspelt = scale.ptx({{"M", 100}});
  ASSERT_FALSE(misspelt);
  EXPECT_EQ(misspelt.error().message(), "kernel 'scale' got an unknown name 'M' (known: N)");
}

TEST(Call, ABoundKernelTakesWhatItWasBoundTo) {
  const auto axpy = kernels::axpy();
  std::vector<float> x(8, 1.0F);
  std::vector<float> y(8);
  const auto bound = axpy.bind(x, inout(y), 3.0);
  ASSERT_TRUE(bound) << bound.error().message();
  EXPECT_THAT(y, testing::Each(0.0F)) << "nothing ran";
  ASSERT_TRUE((*bound)(x, inout(y)));
  EXPECT_THAT(y, testing::Each(3.0F));
  ASSERT_TRUE((*bound)(x, inout(y), 1.0));
  EXPECT_THAT(y, testing::Each(4.0F));
  std::vector<float> longer(9);
  const auto refused = (*bound)(longer, inout(y));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message(),
            "bound kernel 'axpy': argument 'X' has shape (9,), it was bound to (8,); bind the "
            "kernel to tensors like these, or call the kernel itself");
}

TEST(Call, RacesAreFound) {
  const auto race = kernel("race", {Output("Y", {1}, u32)}, {.block = {64}}, [](const Tensor& Y) {
    ptx::inst::st.global.u32(ptx::addr(ptx::global_ptr(Y)), ptx::special::tid.x());
    ptx::ret();
  });
  std::vector<std::uint32_t> y(1);
  const auto found = race(out(y));
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code().substr(0, 5), "PTX09");
  emu::Options options;
  options.races = false;
  EXPECT_TRUE(race.emulate(options, out(y)));
}

TEST(Call, WhatTheBodyAsksInVainIsShown) {
  golden::Folder goldens("call");
  const auto shown = [&](const auto& result) {
    ASSERT_FALSE(result);
    diag::Diagnostic found = result.error();
    found->place->file = "kernel.cpp";  // wherever the tree lies
    found->place->line = found->place->end_line = 3;
    goldens.expect(found);
  };
  shown(kernels::scale().ptx());
  const auto loop =
      kernel("loop", {Input("X", {"N"}, f32)}, {.dynamic = {"N"}}, [](const Tensor& X) {
        for (std::int64_t i = 0; i < X.shape(0); ++i) ptx::comment("never");
      });
  shown(loop.ptx());
  goldens.expect_complete();
}

}  // namespace
}  // namespace pyptx
