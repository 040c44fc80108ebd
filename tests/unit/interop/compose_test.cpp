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

std::shared_ptr<const ir::Module> module_of(const std::string& text) {
  auto module = read_module(text);
  EXPECT_TRUE(module) << module.error().message();
  return *module;
}

std::shared_ptr<const ir::Module> add_module() { return module_of(kernels::kAdd); }

Signature add_signature() {
  const Tile vector{.dims = {"N"}, .dtype = "f32"};
  return {.kernel = "kernel",
          .inputs = {{"a", vector}, {"b", vector}},
          .outputs = {{"c", vector}},
          .scalars = {{"u32", "n"}}};
}

Facts add_facts(std::int64_t n) { return *add_signature().facts({{"N", n}}); }

KernelLaunch add_launch(std::uint32_t n) {
  KernelLaunch launch;
  launch.grid = {(n + 31) / 32, 1, 1};
  launch.block = {32, 1, 1};
  launch.scalars = {{.name = "n", .value = n, .is_fixed = true}};
  return launch;
}

Kind refusal(const Signature& signature, const KernelLaunch& launch,
             const std::shared_ptr<const ir::Module>& module = add_module()) {
  const auto kernel = compose(module, signature, add_facts(50), launch);
  EXPECT_FALSE(kernel);
  return kernel ? Kind::UnknownOpcode : kernel.error().kind;
}

TEST(ComposeTest, TensorsThenScalarsAreTheParameters) {
  const auto kernel = compose(add_module(), add_signature(), add_facts(50), add_launch(50));
  ASSERT_TRUE(kernel) << kernel.error().message();
  EXPECT_EQ(kernel->image->plan(), kernels::add_plan(50));
  EXPECT_EQ(kernel->image->target(), "sm_90a");
  EXPECT_EQ(kernel->tensor(2).bytes, 200U);
  EXPECT_TRUE(kernel->scalars.empty());
  std::vector<float> a(50, 1.0F), b(50, 2.0F), c(50);
  const auto host = [](std::vector<float>& values) {
    return HostTensor{reinterpret_cast<std::uintptr_t>(values.data()), 200, true};
  };
  const HostTensor tensors[] = {host(a), host(b), host(c)};
  const auto report = kernel->emulate(tensors);
  ASSERT_TRUE(report) << report.error().message();
  EXPECT_EQ(c, std::vector<float>(50, 3.0F));
}

TEST(ComposeTest, EqualKernelsAreOneImage) {
  const auto module = add_module();
  const auto one = compose(module, add_signature(), add_facts(50), add_launch(50));
  const auto text = TracedText{module, one->image->ptx(), "sm_90a"};
  const auto other = make_image(text, add_signature(), add_facts(50), add_launch(50));
  ASSERT_TRUE(other) << other.error().message();
  EXPECT_EQ(one->image, *other);
}

TEST(ComposeTest, AScalarMayComeWithEachLaunch) {
  const Signature signature = add_signature();
  KernelLaunch launch = add_launch(50);
  launch.scalars[0].is_fixed = false;
  const auto kernel = compose(add_module(), signature, add_facts(50), launch);
  ASSERT_TRUE(kernel) << kernel.error().message();
  EXPECT_EQ(kernel->image->plan().argument_count(), 1U);
  ASSERT_EQ(kernel->scalars.size(), 1U);
  EXPECT_EQ(kernel->scalars[0], (ScalarParameter{"n", find_scalar_type("u32"), 50}));
  launch.scalars.clear();
  const auto open = compose(add_module(), signature, add_facts(50), launch);
  EXPECT_EQ(open->scalars[0].value, std::nullopt);

  launch.scalars = {{.name = "n", .value = -1}};
  EXPECT_EQ(refusal(signature, launch), Kind::ScalarValue);
  launch.scalars[0].value = Number::of_bits(std::uint64_t{1} << 32);
  EXPECT_EQ(refusal(signature, launch), Kind::ScalarValue);
  launch.scalars[0] = {.name = "m", .value = 1};
  EXPECT_EQ(refusal(signature, launch), Kind::BadPlan);
}

TEST(ComposeTest, BitsAreTheParametersWhateverItsType) {
  const ScalarType& f32 = *find_scalar_type("f32");
  EXPECT_EQ(Number::of_bits(0x3f800000).bits(f32), 0x3f800000U);
  EXPECT_EQ(Number(1).bits(f32), 0x3f800000U);
}

TEST(ComposeTest, WhatDoesNotFitTheModuleIsRefused) {
  const Signature signature = add_signature();
  Signature changed = signature;
  changed.kernel = "no_such";
  EXPECT_EQ(refusal(changed, add_launch(50)), Kind::EmuNoEntry);
  changed = signature;
  changed.scalars.clear();
  KernelLaunch launch = add_launch(50);
  launch.scalars.clear();
  EXPECT_EQ(refusal(changed, launch), Kind::KernelParameters);
  changed = signature;
  changed.scalars[0].type = "u33";
  EXPECT_EQ(refusal(changed, add_launch(50)), Kind::DeclarationType);
  changed = signature;
  changed.outputs.clear();
  EXPECT_EQ(refusal(changed, add_launch(50)), Kind::BadPlan);
  launch = add_launch(50);
  launch.maps = {{"d"}};
  EXPECT_EQ(refusal(signature, launch), Kind::BadPlan);
  launch.maps = {{"a"}};
  EXPECT_EQ(refusal(signature, launch), Kind::ArrayMap);  // rows of 200 bytes
  launch = add_launch(50);
  launch.cluster = {3, 1, 1};
  EXPECT_EQ(refusal(signature, launch), Kind::LaunchShape);
  launch = add_launch(50);
  launch.dynamic_shared = 300'000;
  EXPECT_EQ(refusal(signature, launch), Kind::SharedTarget);
  launch = add_launch(50);
  launch.is_programmatic = true;  // and never waits
  EXPECT_EQ(refusal(signature, launch), Kind::DeclarationValue);
}

TEST(ComposeTest, TheBlockIsTheOneThatTheTextAsksFor) {
  std::string text = kernels::kAdd;
  const std::size_t body = text.find('{');
  ASSERT_NE(body, std::string::npos);
  EXPECT_EQ(refusal(add_signature(), add_launch(50),
                    module_of(std::string(text).insert(body, ".reqntid 64\n"))),
            Kind::BlockDirective);
  EXPECT_EQ(refusal(add_signature(), add_launch(50),
                    module_of(std::string(text).insert(body, ".maxntid 8, 2\n"))),
            Kind::BlockDirective);
  const auto fits = compose(module_of(text.insert(body, ".maxntid 8, 4\n")), add_signature(),
                            add_facts(50), add_launch(50));
  EXPECT_TRUE(fits) << fits.error().message();
}

}  // namespace
}  // namespace pyptx::interop
