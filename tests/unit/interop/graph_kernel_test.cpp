// SPDX-License-Identifier: Apache-2.0
//
// Kernels as texts in other frameworks' graphs: found by text and by name, for one size or for any,
// and refused with tensors that they were not made for.
#include "pyptx/interop/graph_kernel.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "golden.h"
#include "kernels.h"
#include "pyptx/interop/registry.h"
#include "pyptx/interop/torch_op.h"

namespace pyptx::interop {
namespace {

using Kernel = std::shared_ptr<const GraphKernel>;
using Extents = std::vector<std::int64_t>;

SavedTensor floats(std::string name, Extents shape, bool column_major = false) {
  const std::uint64_t bytes = dlpack::byte_count(dlpack::find_element_type("f32")->type, shape);
  return {std::move(name), "f32", std::move(shape), bytes, column_major};
}

SavedKernel saved_add(std::uint32_t n) {
  SavedKernel kernel;
  kernel.image = Registry::instance().intern(kernels::kAdd, "sm_90a", kernels::add_plan(n));
  kernel.inputs = {floats("a", {n}), floats("b", {n})};
  kernel.outputs = {floats("c", {n})};
  return kernel;
}

Kernel graph_add(std::uint32_t n) { return *GraphKernel::make(saved_add(n)); }

const dlpack::ElementType* element(std::string_view name) {
  return dlpack::find_element_type(name);
}

TEST(GraphKernelTest, ElementsThatNoTensorHasAreRefused) {
  SavedKernel kernel = saved_add(32);
  kernel.inputs[1].dtype = "b32";
  EXPECT_FALSE(GraphKernel::make(std::move(kernel)).ok());
}

std::string text_of(const SavedKernel& kernel) { return *kernel.to_bytes(); }

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

TEST(GraphKernelTest, IsFoundByNameAfterItsText) {
  GraphKernels known;
  const std::string text = text_of(saved_add(34));
  EXPECT_FALSE(known.find(first_line(text)).ok());
  const auto read = known.find(text);
  ASSERT_TRUE(read.ok());
  ASSERT_NE(read->kernel, nullptr);
  EXPECT_EQ(read->open, nullptr);
  EXPECT_EQ(text_of(read->kernel->saved()), text);
  EXPECT_EQ(known.find(first_line(text))->kernel, read->kernel);
  EXPECT_EQ(known.find(text)->kernel, read->kernel);  // not read again
}

TEST(GraphKernelTest, ADamagedTextIsRefusedAndNotRemembered) {
  GraphKernels known;
  const std::string whole = text_of(saved_add(35));
  std::string text = whole;
  text.replace(text.find("add.f32"), 7, "sub.f32");
  EXPECT_FALSE(known.find(text).ok());
  EXPECT_FALSE(known.find(text.substr(0, text.size() / 2)).ok());
  EXPECT_FALSE(known.find("").ok());
  EXPECT_FALSE(known.find("\n").ok());
  EXPECT_FALSE(known.find(first_line(whole)).ok());
}

TEST(GraphKernelTest, AKernelForAnySizeIsKeptForThoseThatWereMet) {
  GraphKernels known;
  const std::string text = *kernels::open_add().to_bytes();
  const auto read = known.find(text);
  ASSERT_TRUE(read.ok()) << read.error().message();
  ASSERT_NE(read->open, nullptr);
  EXPECT_EQ(known.find(first_line(text))->open, read->open);
  const auto at = [&](std::int64_t n) {
    const std::vector<Shape> inputs = {{n}, {n}};
    return read->open->at(inputs);
  };
  const auto small = at(5);
  ASSERT_TRUE(small.ok()) << small.error().message();
  EXPECT_EQ((*small)->saved().outputs[0].shape, Shape{5});
  EXPECT_EQ(*at(5), *small);
  EXPECT_NE(*at(6), *small);
  for (std::int64_t n = 1000; n < 1300; ++n) ASSERT_TRUE(at(n).ok());
  EXPECT_NE(*at(5), *small);  // the oldest went
  const std::vector<Shape> uneven = {{5}, {6}};
  EXPECT_EQ(read->open->at(uneven).error().kind, diag::Kind::ArrayDimension);
}

TEST(GraphKernelTest, ChecksTensors) {
  SavedKernel saved = saved_add(32);
  saved.inputs = {floats("a", {4, 8}), floats("b", {4, 8}, /*column_major=*/true)};
  saved.outputs = {floats("c", {1, 0})};
  const Kernel kernel = *GraphKernel::make(std::move(saved));
  const Extents shape = {4, 8};
  const Extents rows = {8, 1};
  const Extents columns = {1, 4};
  const Extents empty = {1, 0};
  const auto* f32 = element("f32");
  EXPECT_TRUE(kernel->check(0, {f32, shape, rows, 4}).ok());
  EXPECT_FALSE(kernel->check(0, {f32, shape, columns, 4}).ok());
  EXPECT_TRUE(kernel->check(1, {f32, shape, columns, 4}).ok());
  EXPECT_FALSE(kernel->check(1, {f32, shape, rows, 4}).ok());
  EXPECT_FALSE(kernel->check(0, {element("s32"), shape, rows, 4}).ok());
  EXPECT_FALSE(kernel->check(0, {nullptr, shape, rows, 4}).ok());
  EXPECT_FALSE(kernel->check(0, {f32, columns, rows, 4}).ok());
  EXPECT_TRUE(kernel->check(2, {f32, empty, columns, 0}).ok());  // strides of nothing
  EXPECT_TRUE(kernel->check(0, {f32, shape, rows, 4, 128}).ok());
  EXPECT_FALSE(kernel->check(0, {f32, shape, rows, 4, 127}).ok());
  EXPECT_FALSE(kernel->check(0, {f32, shape, rows, 4, -1}).ok());
}

TEST(GraphKernelTest, ATensorUnderAMapIsAligned) {
  auto plan = kernels::add_plan(32);
  plan.params[1].kind = driver::ParamSlot::Kind::MapPointer;
  layout::TensorMap& map = plan.params[1].map;
  map.type = layout::MapType::F32;
  map.rank = 1;
  map.dims[0] = 32;
  map.box[0] = 32;
  SavedKernel saved = saved_add(32);
  saved.image = Registry::instance().intern(kernels::kAdd, "sm_90a", plan);
  const Kernel kernel = *GraphKernel::make(std::move(saved));
  const Extents shape = {32};
  const Extents strides = {1};
  EXPECT_TRUE(kernel->check(0, {element("f32"), shape, strides, 4}).ok());
  EXPECT_FALSE(kernel->check(1, {element("f32"), shape, strides, 4}).ok());
  EXPECT_TRUE(kernel->check(1, {element("f32"), shape, strides, 16}).ok());
}

// How they look. No torch is loaded into this program.
TEST(GraphKernelTest, Goldens) {
  golden::Folder goldens("graph_kernel");
  GraphKernels known;
  goldens.expect(known.find("pyptx-kernel 1 812 " + std::string(64, '0')).error());
  const Extents shape = {16};
  const Extents strides = {1};
  goldens.expect(graph_add(32)->check(2, {element("f16"), shape, strides, 0}).error());
  goldens.expect(register_torch_operators(/*define=*/true).error());
  goldens.expect_complete();
}

}  // namespace
}  // namespace pyptx::interop
