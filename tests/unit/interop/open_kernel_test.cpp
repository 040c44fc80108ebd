// SPDX-License-Identifier: Apache-2.0
//
// Kernels for any size: what they are for one, bytes that come back as they were, damage that is
// found, and sizes that are refused.
#include "pyptx/interop/open_kernel.h"

#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <vector>

#include "golden.h"
#include "kernels.h"
#include "pyptx/support/sha256.h"

namespace pyptx::interop {
namespace {

using diag::Kind;
using kernels::open_add;

std::vector<float> sums(const SavedKernel& kernel, std::int64_t n) {
  const auto count = static_cast<std::size_t>(n);
  std::vector<float> a(count), b(count, 0.5F), c(count);
  std::iota(a.begin(), a.end(), 1.0F);
  std::vector<HostTensor> memory;
  for (std::vector<float>* tensor : {&a, &b, &c}) {
    memory.push_back({reinterpret_cast<std::uintptr_t>(tensor->data()), 4 * count});
  }
  const auto report = kernel.emulate(memory);
  EXPECT_TRUE(report) << report.error().message();
  return c;
}

/// With a first line that says the truth.
std::string sealed(const std::string& body) {
  return "pyptx-kernel 3 " + std::to_string(body.size()) + " " + support::Sha256::hex(body) + "\n" +
         body;
}

std::string body_of(const OpenKernel& kernel) {
  const std::string bytes = *kernel.to_bytes();
  return bytes.substr(bytes.find('\n') + 1);
}

TEST(OpenKernelTest, OneTextServesEverySize) {
  const OpenKernel kernel = open_add();
  for (const std::int64_t n : {1, 31, 32, 33, 1000}) {
    const auto settled = kernel.at({{"N", n}});
    ASSERT_TRUE(settled) << settled.error().message();
    EXPECT_EQ(settled->image->ptx(), kernels::kAdd);
    EXPECT_EQ(settled->image->plan(), kernels::add_plan(static_cast<std::uint32_t>(n)));
    const auto c = sums(*settled, n);
    EXPECT_EQ(c.front(), 1.5F);
    EXPECT_EQ(c.back(), static_cast<float>(n) + 0.5F);
  }
}

TEST(OpenKernelTest, ASizeThatLaunchesNothing) {
  const auto settled = open_add().at({{"N", 0}});
  ASSERT_TRUE(settled) << settled.error().message();
  EXPECT_TRUE(settled->is_empty);
  EXPECT_TRUE(sums(*settled, 0).empty());
  EXPECT_EQ(settled->to_bytes().error().kind, Kind::SavedKernelBytes);
}

TEST(OpenKernelTest, ShapesGiveSizes) {
  const OpenKernel kernel = open_add();
  const auto at = [&](const std::vector<Shape>& inputs) { return kernel.at(inputs); };
  EXPECT_EQ(at({{7}, {7}})->outputs[0].shape, Shape{7});
  EXPECT_EQ(at({{7}, {8}}).error().kind, Kind::ArrayDimension);
  EXPECT_EQ(at({{7, 1}, {7}}).error().kind, Kind::ArrayRank);
  EXPECT_EQ(at({{7}}).error().kind, Kind::ArrayCount);
  const std::vector<Shape> inputs = {{7}, {7}}, outputs = {{8}};
  EXPECT_EQ(kernel.at(inputs, outputs).error().kind, Kind::ArrayDimension);
  EXPECT_EQ(kernel.at(Sizes{}).error().kind, Kind::UnknownSize);
}

TEST(OpenKernelTest, WhatAGridCannotBeIsRefused) {
  OpenKernel kernel = open_add();
  kernel.launch.grid[0] = SizeExpression::of("N") - 8;
  EXPECT_TRUE(kernel.at({{"N", 9}}));
  EXPECT_EQ(kernel.at({{"N", 8}}).error().kind, Kind::EmptyGrid);
  EXPECT_EQ(kernel.at({{"N", 7}}).error().kind, Kind::DimensionsValue);
  kernel.launch.grid[0] = SizeExpression::of("N") * (1 << 30);
  EXPECT_EQ(kernel.at({{"N", 7}}).error().kind, Kind::DimensionsValue);
  kernel.launch.grid[0] = SizeExpression::of("N") / (SizeExpression::of("N") - 7);
  EXPECT_EQ(kernel.at({{"N", 7}}).error().kind, Kind::SizeExpression);
}

TEST(OpenKernelTest, PromisesAreChecked) {
  OpenKernel kernel = open_add();
  kernel.signature.multiples = {{"N", 4}};
  EXPECT_TRUE(kernel.at({{"N", 8}}));
  EXPECT_EQ(kernel.at({{"N", 9}}).error().kind, Kind::ArrayMultiple);
  const auto again = OpenKernel::from_bytes(*kernel.to_bytes());
  EXPECT_EQ(again->at({{"N", 9}}).error().kind, Kind::ArrayMultiple);
}

TEST(OpenKernelTest, ASizeThatItsParameterCannotHold) {
  OpenKernel kernel = open_add();
  kernel.launch.scalars[0].size = SizeExpression::of("N") - 2;
  EXPECT_EQ(kernel.at({{"N", 1}}).error().kind, Kind::ScalarValue);
}

TEST(OpenKernelTest, BytesComeBackAsTheyWere) {
  OpenKernel kernel = open_add();
  std::string& ptx = kernel.text.ptx;
  const std::string last = ".param .u32 n";
  ptx.replace(ptx.find(last), last.size(),
              last + ", .param .f32 alpha, .param .u64 seed, .param .align 64 .b8 map[128]");
  kernel.signature.inputs[1].tile =
      Tile{.dims = {"N", 64}, .dtype = "bf16", .layout = TileLayout::Swizzle128, .box = {64, 64}};
  kernel.signature.scalars.push_back({"f32", "alpha"});
  kernel.signature.scalars.push_back({"u64", "seed"});
  kernel.launch.scalars.push_back({.bits = 5});
  kernel.launch.scalars.push_back({.bits = 6, .is_fixed = true});
  kernel.launch.maps = {"b"};
  kernel.launch.maps_by_value = true;
  kernel.launch.is_programmatic = true;
  kernel.launch.dynamic_shared = 1024;
  kernel.binaries = {{"sm_90a", std::string("\0\x7f"
                                            "cubin",
                                            7)}};
  const auto bytes = kernel.to_bytes();
  ASSERT_TRUE(bytes);
  const auto again = OpenKernel::from_bytes(*bytes);
  ASSERT_TRUE(again) << again.error().message();
  EXPECT_EQ(*again->to_bytes(), *bytes);
  EXPECT_EQ(again->launch.scalars, kernel.launch.scalars);
  EXPECT_EQ(again->signature.inputs[1].tile.box, (std::vector<std::int64_t>{64, 64}));
  EXPECT_EQ(again->binaries, kernel.binaries);
  EXPECT_TRUE(OpenKernel::has_bytes(*bytes));
  EXPECT_FALSE(OpenKernel::has_bytes(*open_add().at({{"N", 4}})->to_bytes()));
}

TEST(OpenKernelTest, EachKindOfBytesNamesItsReader) {
  const std::string open = *open_add().to_bytes();
  const std::string saved = *open_add().at({{"N", 4}})->to_bytes();
  EXPECT_EQ(SavedKernel::from_bytes(open).error().kind, Kind::SavedKernelBytes);
  EXPECT_EQ(OpenKernel::from_bytes(saved).error().kind, Kind::SavedKernelBytes);
}

TEST(OpenKernelTest, EveryDamagedLineIsRefused) {
  const std::string body = body_of(open_add());
  ASSERT_TRUE(OpenKernel::from_bytes(sealed(body)));
  const std::size_t text = body.find("\nptx ") + 1;
  // A line that is missing, a letter that is another, a word that is missing.
  for (std::size_t at = 0; at < text;) {
    const std::size_t end = body.find('\n', at) + 1;
    EXPECT_FALSE(OpenKernel::from_bytes(sealed(body.substr(0, at) + body.substr(end))))
        << body.substr(at, end - at);
    at = end;
  }
  for (std::size_t at = 0; at < text; ++at) {
    std::string changed = body;
    changed[at] = changed[at] == '\t' ? ' ' : '\t';
    const auto read = OpenKernel::from_bytes(sealed(changed));
    EXPECT_FALSE(read && read->at({{"N", 8}})) << changed.substr(0, text);
  }
  for (std::size_t length = 0; length < body.size(); length += 7) {
    EXPECT_FALSE(OpenKernel::from_bytes(sealed(body.substr(0, length))));
  }
}

TEST(OpenKernelTest, Goldens) {
  golden::Folder goldens("open_kernel");
  OpenKernel kernel = open_add();
  kernel.launch.grid[0] = SizeExpression::of("N") / (SizeExpression::of("N") - 7);
  goldens.expect(kernel.at({{"N", 7}}).error());
  goldens.expect_complete();
}

}  // namespace
}  // namespace pyptx::interop
