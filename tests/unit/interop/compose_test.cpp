// SPDX-License-Identifier: Apache-2.0
//
// Modules made launchable: the plan that comes out, and what does not fit the module.
#include "pyptx/interop/compose.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "kernels.h"

namespace pyptx::interop {
namespace {

using diag::Kind;

std::shared_ptr<const ir::Module> add_module() {
  auto module = read_module(kernels::kAdd);
  EXPECT_TRUE(module) << module.error().message();
  return *module;
}

KernelLaunch add_launch(std::uint32_t n) {
  KernelLaunch launch;
  launch.grid = {(n + 31) / 32, 1, 1};
  launch.block = {32, 1, 1};
  launch.inputs = {dense_tensor("a", "f32", {n}), dense_tensor("b", "f32", {n})};
  launch.outputs = {dense_tensor("c", "f32", {n})};
  launch.scalars = {{n, 4}};
  return launch;
}

Kind refusal(std::string_view entry, KernelLaunch launch) {
  const auto kernel = compose(add_module(), entry, std::move(launch));
  EXPECT_FALSE(kernel);
  return kernel ? Kind::UnknownOpcode : kernel.error().kind;
}

TEST(ComposeTest, TensorsThenScalarsAreTheParameters) {
  const auto kernel = compose(add_module(), "kernel", add_launch(50));
  ASSERT_TRUE(kernel) << kernel.error().message();
  EXPECT_EQ(kernel->image->plan(), kernels::add_plan(50));
  EXPECT_EQ(kernel->image->target(), "sm_90a");
  EXPECT_EQ(kernel->tensor(2).bytes, 200U);
  std::vector<float> a(50, 1.0F), b(50, 2.0F), c(50);
  const auto host = [](std::vector<float>& values) {
    return HostTensor{reinterpret_cast<std::uintptr_t>(values.data()), 200, true};
  };
  const HostTensor tensors[] = {host(a), host(b), host(c)};
  const auto report = kernel->emulate(tensors);
  ASSERT_TRUE(report) << report.error().message();
  EXPECT_EQ(c, std::vector<float>(50, 3.0F));
}

TEST(ComposeTest, AScalarMayComeWithEachLaunch) {
  KernelLaunch launch = add_launch(50);
  launch.scalars = {{.name = "n", .type = "u32", .value = 50}};
  const auto kernel = compose(add_module(), "kernel", launch);
  ASSERT_TRUE(kernel) << kernel.error().message();
  EXPECT_EQ(kernel->image->plan().argument_count(), 1U);
  ASSERT_EQ(kernel->scalars.size(), 1U);
  EXPECT_EQ(kernel->scalars[0], (ScalarParameter{"n", find_scalar_type("u32"), 50}));
  launch.scalars[0].value.reset();
  EXPECT_EQ(compose(add_module(), "kernel", launch)->scalars[0].value, std::nullopt);

  launch.scalars[0].value = -1;
  EXPECT_EQ(refusal("kernel", launch), Kind::ScalarValue);
  launch.scalars[0].type = "u33";
  EXPECT_EQ(refusal("kernel", launch), Kind::BadPlan);
}

TEST(ComposeTest, SizesComeFromTheElementType) {
  EXPECT_EQ(dense_tensor("x", "bf16", {3, 5}).bytes, 30U);
  EXPECT_EQ(dense_tensor("x", "float64", {}).bytes, 8U);
  EXPECT_EQ(dense_tensor("x", "e4m3", {7, 0}).bytes, 0U);
}

TEST(ComposeTest, WhatDoesNotFitTheModuleIsRefused) {
  EXPECT_EQ(refusal("no_such", add_launch(50)), Kind::EmuNoEntry);
  KernelLaunch launch = add_launch(50);
  launch.scalars.clear();
  EXPECT_EQ(refusal("kernel", launch), Kind::KernelParameters);
  launch = add_launch(50);
  launch.scalars[0].size = 3;
  EXPECT_EQ(refusal("kernel", launch), Kind::LaunchShape);
  launch = add_launch(50);
  launch.maps = {{"d", {}}};
  EXPECT_EQ(refusal("kernel", launch), Kind::BadPlan);
  launch = add_launch(50);
  launch.cluster = {3, 1, 1};
  EXPECT_EQ(refusal("kernel", launch), Kind::LaunchShape);
}

}  // namespace
}  // namespace pyptx::interop
