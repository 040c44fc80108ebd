// SPDX-License-Identifier: Apache-2.0
//
// What a kernel can declare: tensor maps, names of types, clusters, shared memory, grids that are
// functions; and kernels that are carried.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <numeric>
#include <string>
#include <vector>

#include "kernels.h"
#include "pyptx/diag/render.h"

namespace pyptx {
namespace {

using testing::Each;
using testing::HasSubstr;
using namespace pyptx::types;

std::string told(const diag::Status& status) {
  return status ? "" : diag::render(status.error(), nullptr);
}

/// Y = X for matrices whose rows are brought by tensor maps, a box for each CTA.
DeclaredKernel<> copy_by_map(bool by_value) {
  const interop::Tile boxes{.dims = {"M", 32}, .dtype = "f32", .box = {8, 32}};
  return kernel(
      "copy", {Input("X", boxes), Output("Y", boxes)},
      {.grid = ceil_div(dim("M"), 8), .block = {32}, .dynamic = {"M"}, .maps_by_value = by_value},
      [](const Tensor& X, const Tensor& Y) {
        const Reg from = X.tma_desc();
        const Reg to = Y.tma_desc();
        const Shared tile = smem::alloc(f32, {8, 32});
        const Mbarriers bar = smem::mbarrier(1);
        const Reg row = reg::from(ptx::special::ctaid.x(), u32) * 8;
        ptx::if_(ptx::special::tid.x() == 0, [&] {
          ptx::mbarrier::init(bar[0], 1);
          ptx::fence::mbarrier_init();
          ptx::mbarrier::arrive_expect_tx(bar[0], 8 * 32 * 4);
          ptx::tma::load(tile, from, {0, row}, bar[0]);
          ptx::mbarrier::wait(bar[0], 0);
          ptx::fence::proxy_async_shared_cta();
          ptx::tma::store(to, {0, row}, tile);
          ptx::tma::commit_group();
          ptx::tma::wait_group(0);
        });
        ptx::ret();
      });
}

TEST(Declaration, MapsAreMadeOfTiles) {
  for (const bool by_value : {false, true}) {
    const auto copy = copy_by_map(by_value);
    for (const std::int64_t rows : {8, 20}) {
      std::vector<float> x(static_cast<std::size_t>(rows * 32));
      std::iota(x.begin(), x.end(), 0.0F);
      std::vector<float> y(x.size());
      const auto done = copy(host(x, {rows, 32}), out(host(y, {rows, 32})));
      ASSERT_TRUE(done) << told(done);
      EXPECT_EQ(x, y);
    }
  }
  alignas(16) std::array<float, 8 * 32 + 1> memory{};
  const auto refused =
      copy_by_map(true)(host(memory.data() + 1, {8, 32}), out(host(memory.data() + 1, {8, 32})));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), "PTX0849");
}

TEST(Declaration, ATypeHasAName) {
  const interop::Tile any{.dims = {"N"}, .dtype = "T"};
  const auto size = kernel("size", {Input("X", any), Output("Y", any), Output("SIZE", {1}, u32)},
                           {}, [](const Tensor& X, const Tensor&, const Tensor& SIZE) {
                             const auto bits = isa::info(X.dtype()).bits;
                             ptx::inst::st.global.u32(ptx::addr(ptx::global_ptr(SIZE)), bits);
                             ptx::ret();
                           });
  std::vector<std::uint32_t> bits(1);
  std::vector<double> wide(4);
  std::vector<std::int16_t> narrow(4);
  ASSERT_TRUE(size(wide, out(wide), out(bits)));
  EXPECT_EQ(bits[0], 64U);
  ASSERT_TRUE(size(host(narrow, {4}, bf16), out(host(narrow, {4}, bf16)), out(bits)));
  EXPECT_EQ(bits[0], 16U);
  const auto refused = size(wide, out(narrow), out(bits));
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message(), HasSubstr("gave T = float64 (f64)"));
  EXPECT_THAT(size.ptx({{"T", f16}}).value_or(""), HasSubstr("16;"));
  EXPECT_EQ(size.ptx().error().code(), "PTX0880");
}

struct Blocks {
  std::uint32_t per_cluster = 2;
  bool operator==(const Blocks&) const = default;
};

TEST(Declaration, AGridIsAFunctionOfSizesAndValues) {
  const auto fill = kernel<Blocks>(
      "fill", {Output("Y", {"N"}, u32)},
      {.grid =
           [](const Dims& dims, const Blocks& values) {
             return dims["N"] / values.per_cluster * values.per_cluster;
           },
       .cluster = {2},
       .shared = 1024},
      [](const Tensor& Y, const Blocks& values) {
        const Reg place = ptx::global_ptr(Y) + reg::from(ptx::special::ctaid.x(), u64) * 4;
        const Reg rank = ptx::cluster::rank();
        ptx::inst::st.global.u32(ptx::addr(place), rank + values.per_cluster);
        ptx::ret();
      });
  std::vector<std::uint32_t> y(4);
  const auto done = fill(out(y), Blocks{.per_cluster = 4});
  ASSERT_TRUE(done) << told(done);
  EXPECT_THAT(y, testing::ElementsAre(4, 5, 4, 5));
  EXPECT_EQ(fill.launch_grid({{"N", 100}})->x, 100U);
  EXPECT_EQ(fill.launch_grid({{"N", 100}}, {.per_cluster = 3})->x, 99U);
  EXPECT_EQ(fill.launch_grid().error().code(), "PTX0857");
  EXPECT_EQ(fill.signature().outputs[0].name, "Y");
  const auto odd = fill(out(y), Blocks{.per_cluster = 3});  // no whole clusters
  ASSERT_FALSE(odd);
  EXPECT_EQ(odd.error().code(), "PTX0705") << told(odd);
}

TEST(Declaration, AKernelIsCarried) {
  const std::string path = testing::TempDir() + "/pyptx_call_test.kernel";
  const auto axpy = kernels::axpy();
  ASSERT_TRUE(axpy.save(path));
  auto open = OpenKernel::load(path);
  ASSERT_TRUE(open) << open.error().message();
  for (const std::int64_t size : {3, 200}) {
    const auto kernel = open->at({{"N", size}});
    ASSERT_TRUE(kernel) << kernel.error().message();
    std::vector<float> x(static_cast<std::size_t>(size), 1.0F);
    std::vector<float> y(x.size(), 5.0F);
    const std::uint64_t bytes = x.size() * sizeof(float);
    const HostTensor tensors[] = {{reinterpret_cast<std::uintptr_t>(x.data()), bytes, false},
                                  {reinterpret_cast<std::uintptr_t>(y.data()), bytes}};
    ASSERT_TRUE(kernel->emulate(tensors));
    EXPECT_THAT(y, Each(7.0F));
  }
  ASSERT_TRUE(axpy.save(path, {{"N", 8}}));
  const auto saved = SavedKernel::load(path);
  ASSERT_TRUE(saved) << saved.error().message();
  EXPECT_EQ(saved->inputs[0].shape, interop::Shape{8});
  ASSERT_EQ(saved->scalars.size(), 1U);
  EXPECT_EQ(saved->scalars[0].name, "alpha");
  std::remove(path.c_str());
  const auto rows = kernels::split().open({{"M", 2}});  // its strides are those of dense rows
  ASSERT_TRUE(rows) << rows.error().message();
  EXPECT_TRUE(rows->at(interop::Sizes{}));
}

TEST(Declaration, WhatIsKeptIsBounded) {
  int traces = 0;
  const auto clear =
      kernel("clear", {Output("Y", {"N"}, u32)}, {.grid = dim("N")}, [&](const Tensor& Y) {
        ++traces;
        const Reg i = reg::from(ptx::special::ctaid.x(), u64);
        const Reg place = ptx::global_ptr(Y) + i * 4;
        ptx::inst::st.global.u32(ptx::addr(place), Y.shape(0));
        ptx::ret();
      });
  constexpr std::uint32_t kSizes = interop::kMaxSpecialisations + 1;
  const auto is_right = [&](std::uint32_t size) {
    std::vector<std::uint32_t> y(size);
    return clear(out(y)).ok() && y == std::vector<std::uint32_t>(size, size);
  };
  for (std::uint32_t size = 1; size <= kSizes; ++size) ASSERT_TRUE(is_right(size)) << size;
  EXPECT_EQ(traces, static_cast<int>(kSizes));
  ASSERT_TRUE(is_right(kSizes - 1));
  EXPECT_EQ(traces, static_cast<int>(kSizes)) << "known";
  ASSERT_TRUE(is_right(1));
  EXPECT_EQ(traces, static_cast<int>(kSizes) + 1) << "the oldest went, and came back";
}

}  // namespace
}  // namespace pyptx
