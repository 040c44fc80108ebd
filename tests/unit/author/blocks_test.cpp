// SPDX-License-Identifier: Apache-2.0
//
// Blocks and expressions of kernels in C++ against the golden that
// tests/trace/test_both_surfaces.py holds Python's to: tests/files/both_surfaces.ptx.
// PYPTX_UPDATE_GOLDENS=1 writes it anew.
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "golden.h"
#include "pyptx/author.h"
#include "pyptx/syntax/printer.h"

namespace pyptx {
namespace {

using namespace pyptx::types;

void expressions(const Reg& t, const Reg& s, const Reg& x, const Reg& wide) {
  ptx::floor_div(t, 10);
  ptx::floor_mod(t, 10);
  ptx::floor_div(s, -3);
  ptx::floor_mod(s, 16);
  ptx::floor_mod(s, s);
  const Reg p = t < 5;
  ptx::select(p, t, 7);
  ptx::select(!p, x, 0.5);
  ptx::mad(t, 3, t);
  ptx::mad(s, 4, wide);
  ptx::mad(x, x, 1.5);
  ptx::min(t, 3);
  ptx::max(1.0, x);
  abs(s);
  -x;
  x / 3.0;
}

void blocks(const Reg& t) {
  const Reg i = reg::scalar(u32, 0);
  ptx::while_([&] { return i < 10; },
              [&] {
                ptx::continue_(i > 5);
                i += 1;
                ptx::break_(i == 7);
              });
  ptx::if_(t == 0, [&] { i += 1; });
  ptx::elif_([&] { return t == 1; }, [&] { i += 2; });
  ptx::elif_([&] { return t == 2; }, [&] { i += 3; });
  ptx::else_([&] { i += 4; });
  ptx::range(0, t, [&](const Reg& n) {
    ptx::continue_(n == 3);
    ptx::if_(n > 4, [&] { ptx::break_(); });
  });
  ptx::loop("again", i < 20, [&] { ptx::break_(i == 19); });
}

void elements(const Tensor& X, const Reg& t, const Reg& s, const Reg& n) {
  const Reg value = reg::scalar(f32);
  const Shaped fixed(X, f32, {100000, 70000});
  ptx::inst::ld.global.f32(value, ptx::at(fixed, {t, 3}));
  ptx::inst::ld.global.f32(value, ptx::at(fixed, {s, t}));
  ptx::inst::ld.global.f32(value, ptx::at(fixed, {2, 1}));
  ptx::ptr(fixed, {1});
  ptx::ptr(Shaped(X, f32, {n, n}), {t, s});
  ptx::ptr(Shaped(X, f32, {64, 64}, {.strides = {n, 1}}), {t, 5});
  ptx::ptr(Shaped(X, f32, {64, 32}, {.is_column_major = true}), {t, s});
}

TEST(Blocks, AreThoseOfPython) {
  const Kernel kernel("both", {"X"}, {.line_info = false}, [](const Tensor& X) {
    const Reg t = reg::scalar(u32);
    const Reg s = reg::scalar(s32);
    const Reg x = reg::scalar(f32);
    const Reg wide = reg::scalar(u64);
    expressions(t, s, x, wide);
    blocks(t);
    elements(X, t, s, t);
    ptx::ret();
  });
  const auto text = kernel.ptx();
  ASSERT_TRUE(text) << text.error().message();
  golden::expect_text(golden::folder("../both_surfaces.ptx"), *text);
}

/// A trace of a kernel whose tensor is known.
diag::Result<Traced> traced(const std::vector<author::TracedSize>& shape,
                            const std::function<void(const Tensor&)>& body) {
  const author::TracedTensor tensor{.name = "X", .shape = shape, .dtype = f32};
  KernelOptions options;
  options.line_info = false;
  options.raw_params = {{u32, "n"}};
  return author::trace("k", std::span(&tensor, 1), options,
                       [&](std::span<const Tensor> given) { body(given[0]); });
}

TEST(Blocks, ElementsOfDeclaredTensors) {
  const auto text = [](const std::vector<author::TracedSize>& shape, auto body) {
    const auto found = traced(shape, body);
    return found ? syntax::print(*found->module) : found.error().message();
  };
  const std::vector<author::TracedSize> fixed = {{.number = 100}, {.number = 70}};
  EXPECT_EQ(text(fixed, [](const Tensor& X) { ptx::ptr(X, {reg::scalar(u32), 3}); }),
            text(fixed, [](const Tensor& X) {
              ptx::ptr(Shaped(X, f32, {100, 70}), {reg::scalar(u32), 3});
            }));
  const std::vector<author::TracedSize> open = {{.number = 8}, {.parameter = "n"}};
  const std::string found = text(open, [](const Tensor& X) { ptx::at(X, {1, 2}); });
  EXPECT_NE(found.find("ld.param.u32 %r0, [n];"), std::string::npos) << found;
  EXPECT_EQ(text(fixed, [](const Tensor& X) { ptx::at(X, {100}); }),
            "index 0 of 'X' must be within 0 to 99, got 100");
}

TEST(Blocks, NarrowOffsetsIntoLargeTensorsAreTold) {
  const auto add = [](const Tensor& X) {
    const auto [px] = ptx::global_ptrs(X);
    for (int i = 0; i < 2; ++i) px + reg::scalar(u32) * 4;
    px + reg::scalar(u64);
    ptx::at(X, {reg::scalar(u32)});
  };
  const auto large = traced({{.number = std::int64_t{1} << 31}}, add);
  ASSERT_TRUE(large);
  ASSERT_EQ(large->lints.size(), 1U);
  EXPECT_EQ(large->lints[0].kind, diag::Kind::NarrowOffset);
  EXPECT_TRUE(large->lints[0]->place.has_value());
  const auto small = traced({{.number = 1 << 30}}, add);
  ASSERT_TRUE(small);
  EXPECT_TRUE(small->lints.empty());
}

TEST(Blocks, DivideAsCppDoes) {
  const Kernel kernel("k", {"X"}, {.line_info = false}, [](const Tensor&) {
    const Reg s = reg::scalar(s32);
    s / 4;
    s % -3;
    s / s;
    reg::scalar(u32) % 8;
  });
  const auto text = kernel.ptx();
  ASSERT_TRUE(text);
  for (const char* line : {"shr.u32 %r4, %r3, 2;", "div.s32 ", "and.b32 "}) {
    EXPECT_NE(text->find(line), std::string::npos) << line << "\n" << *text;
  }
}

}  // namespace
}  // namespace pyptx
