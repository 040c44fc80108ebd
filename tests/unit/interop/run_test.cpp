// SPDX-License-Identifier: Apache-2.0
//
// Images on the emulator: text to program, plan to parameter block, results in host memory.
#include "pyptx/interop/run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <thread>
#include <vector>

#include "kernels.h"
#include "pyptx/interop/registry.h"

namespace pyptx::interop {
namespace {

using driver::LaunchPlan;
using SlotKind = driver::ParamSlot::Kind;

/// An entry that takes these parameters and does nothing.
std::string empty_kernel(const std::string& parameters) {
  return ".version 8.0\n.target sm_90a\n.address_size 64\n\n.visible .entry kernel(\n" +
         parameters + "\n)\n{\n  ret;\n}\n";
}

class RunTest : public testing::Test {
 protected:
  RunTest() : a(100), b(100), c(100, -1.0F) {
    for (std::size_t i = 0; i < a.size(); ++i) {
      a[i] = static_cast<float>(i);
      b[i] = static_cast<float>(1000 * i);
    }
  }
  static HostTensor tensor(std::vector<float>& values) {
    return {reinterpret_cast<std::uintptr_t>(values.data()), values.size() * sizeof(float), true};
  }
  std::vector<float> a, b, c;
};

TEST_F(RunTest, AnImageRunsOnTheEmulator) {
  KernelImage image(kernels::kAdd, "sm_90a", kernels::add_plan(100), nullptr);
  const HostTensor tensors[] = {tensor(a), tensor(b), tensor(c)};
  const auto report = emulate(image, tensors);
  ASSERT_TRUE(report) << report.error().message();
  for (std::size_t i = 0; i < c.size(); ++i) ASSERT_EQ(c[i], a[i] + b[i]) << i;
  EXPECT_GT(report->warp_instructions, 0U);
}

TEST_F(RunTest, LaunchesOfAnImageShareItsVariables) {
  // Adds 1 to the module's counter and writes it; stops where the tensor says so.
  const std::string text = R"(.version 8.0
.target sm_90a
.address_size 64
.global .align 4 .f32 counter;
.visible .entry kernel(.param .u64 p0)
{
  .reg .pred %p<1>;
  .reg .f32 %f<3>;
  .reg .b64 %rd<1>;
  ld.param.u64 %rd0, [p0];
  ld.global.f32 %f0, [counter];
  add.f32 %f0, %f0, 0f3F800000;
  st.global.f32 [counter], %f0;
  ld.global.f32 %f1, [%rd0];
  setp.eq.f32 %p0, %f1, 0fBF800000;
  @%p0 trap;
  st.global.f32 [%rd0], %f0;
  ret;
}
)";
  LaunchPlan plan;
  plan.entry = "kernel";
  plan.tensor_count = 1;
  driver::ParamSlot pointer;
  pointer.kind = SlotKind::Pointer;
  plan.params.push_back(pointer);
  KernelImage image(text, "sm_90a", plan, nullptr);
  KernelImage other(text, "sm_90a", plan, nullptr);
  const HostTensor tensors[] = {tensor(a)};
  for (const float expected : {1.0F, 2.0F, 3.0F}) {
    ASSERT_TRUE(emulate(image, tensors));
    EXPECT_EQ(a[0], expected);
  }
  ASSERT_TRUE(emulate(other, tensors));
  EXPECT_EQ(a[0], 1.0F);
  const HostTensor stops[] = {tensor(c)};
  EXPECT_FALSE(emulate(image, stops));
  ASSERT_TRUE(emulate(image, tensors));
  EXPECT_EQ(a[0], 1.0F);
}

TEST_F(RunTest, TheHostEndsEmulationsThatHaveNoInterruptOfTheirOwn) {
  static int begun = 0;
  static int ended = 0;
  set_host({[] { ++begun; }, [] { return true; }, [] { ++ended; }});
  const std::string endless =
      ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry kernel()\n{\nL:\n"
      "bra L;\n}\n";
  LaunchPlan plan;
  plan.entry = "kernel";
  KernelImage image(endless, "sm_90a", plan, nullptr);
  EXPECT_EQ(emulate(image, {}).error().kind, diag::Kind::EmuInterrupted);
  emu::Options own;
  own.interrupt = [] { return true; };
  EXPECT_EQ(emulate(image, {}, own).error().kind, diag::Kind::EmuInterrupted);
  set_host({});
  EXPECT_EQ(begun, 1);
  EXPECT_EQ(ended, 1);
}

TEST_F(RunTest, ATensorOfAnotherSizeIsAnErrorNotACrash) {
  KernelImage image(kernels::kAdd, "sm_90a", kernels::add_plan(101), nullptr);
  const HostTensor tensors[] = {tensor(a), tensor(b), tensor(c)};
  const auto report = emulate(image, tensors);
  ASSERT_FALSE(report);
  EXPECT_THAT(std::string(report.error().code()), testing::StartsWith("PTX09"));
}

TEST_F(RunTest, APointerOfAHundredBytesIsNotPassed) {
  LaunchPlan plan;
  plan.entry = "kernel";
  plan.tensor_count = 1;
  plan.params.resize(1);
  plan.params[0].kind = SlotKind::Pointer;
  plan.params[0].size = 100;
  EXPECT_EQ(plan.problem()->kind, diag::Kind::LaunchShape);
  KernelImage image(empty_kernel(".param .b8 p[100]"), "sm_90a", plan, nullptr);
  const HostTensor tensors[] = {tensor(a)};
  const auto report = emulate(image, tensors);
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().kind, diag::Kind::BadPlan);
}

TEST_F(RunTest, TextThatNobodyVerifiedIsVerified) {
  // Each instruction alone is in order.
  const std::string text =
      ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry kernel(.param .u64 p)\n{\n"
      "  .shared .b8 tile[300000];\n  ret;\n}\n";
  const auto read = read_module(text);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().kind, diag::Kind::TargetLimit);
}

TEST_F(RunTest, AReadOnlyTensorIsNotWritten) {
  KernelImage image(kernels::kAdd, "sm_90a", kernels::add_plan(100), nullptr);
  HostTensor out = tensor(c);
  out.writable = false;
  const HostTensor tensors[] = {tensor(a), tensor(b), out};
  EXPECT_FALSE(emulate(image, tensors));
  EXPECT_EQ(c[0], -1.0F);
}

TEST_F(RunTest, PlansThatDoNotFitTheKernelAreRefused) {
  const HostTensor tensors[] = {tensor(a), tensor(b), tensor(c)};
  const auto kind_of = [&](const LaunchPlan& plan, std::span<const HostTensor> given) {
    KernelImage image(kernels::kAdd, "sm_90a", plan, nullptr);
    const auto report = emulate(image, given);
    EXPECT_FALSE(report);
    return report ? diag::Kind::UnknownOpcode : report.error().kind;
  };
  EXPECT_EQ(kind_of(kernels::add_plan(100), std::span(tensors).first(2)), diag::Kind::TensorCount);
  LaunchPlan plan = kernels::add_plan(100);
  plan.params.pop_back();
  EXPECT_EQ(kind_of(plan, tensors), diag::Kind::KernelParameters);
  plan = kernels::add_plan(100);
  plan.params[3].size = 8;
  EXPECT_EQ(kind_of(plan, tensors), diag::Kind::KernelParameters);
  plan = kernels::add_plan(100);
  plan.params[0].tensor = 3;
  EXPECT_EQ(kind_of(plan, tensors), diag::Kind::BadPlan);
}

TEST_F(RunTest, ScalarsAndTheGridOfACallReachTheKernel) {
  LaunchPlan plan = kernels::add_plan(100);
  plan.params[3] = {SlotKind::Argument, 0, 4, 0, {}};
  KernelImage image(kernels::kAdd, "sm_90a", plan, nullptr);
  const HostTensor tensors[] = {tensor(a), tensor(b), tensor(c)};
  const std::uint64_t count[] = {40};
  ASSERT_TRUE(emulate(image, tensors, {}, count));
  EXPECT_EQ(c[39], a[39] + b[39]);
  EXPECT_EQ(c[40], -1.0F);
  const std::uint64_t all[] = {100};
  ASSERT_TRUE(emulate(image, tensors, {}, all, driver::Dim3{3, 1, 1}));
  EXPECT_EQ(c[95], a[95] + b[95]);
  EXPECT_EQ(c[96], -1.0F) << "the fourth block was not launched";

  EXPECT_EQ(emulate(image, tensors).error().kind, diag::Kind::ScalarCount);
  EXPECT_EQ(emulate(image, tensors, {}, all, driver::Dim3{0, 1, 1}).error().kind,
            diag::Kind::LaunchShape);
}

TEST_F(RunTest, TextThatIsNotPtxIsReportedEachTime) {
  KernelImage image("add.f32 oh no", "sm_90a", kernels::add_plan(100), nullptr);
  EXPECT_FALSE(image.program());
  EXPECT_FALSE(image.program());
}

TEST_F(RunTest, BothFormsOfATensorMapReachTheKernel) {
  const std::string ptx =
      empty_kernel("  .param .u64 by_pointer,\n  .param .align 64 .b8 by_value[128]");
  layout::TensorMap map;
  map.type = layout::MapType::F32;
  map.rank = 1;
  map.dims = {64};
  map.box = {32};
  LaunchPlan plan;
  plan.entry = "kernel";
  plan.tensor_count = 1;
  plan.params.push_back({SlotKind::MapPointer, 0, 8, 0, map});
  plan.params.push_back({SlotKind::MapValue, 0, 128, 0, map});
  KernelImage image(ptx, "sm_90a", plan, nullptr);
  const auto program = image.program();
  ASSERT_TRUE(program) << program.error().message();

  alignas(16) std::array<float, 64> values{};
  const std::uint64_t address = reinterpret_cast<std::uintptr_t>(values.data());
  const HostTensor tensors[] = {{address, sizeof(values), true}};
  const auto bound = bind(**program, plan, tensors);
  ASSERT_TRUE(bound) << bound.error().message();
  const auto encoded = emu::encode(map, address);
  const auto& block = bound->launch.params;
  ASSERT_EQ(block.size(), 192U) << "the value is aligned to 64 bytes";
  EXPECT_EQ(std::memcmp(block.data() + 64, encoded.data(), 128), 0);

  std::uint64_t pointer = 0;
  std::memcpy(&pointer, block.data(), 8);
  EXPECT_EQ(std::memcmp(reinterpret_cast<const void*>(pointer), encoded.data(), 128), 0);
  ASSERT_EQ(bound->launch.buffers.size(), 2U);
  EXPECT_EQ(bound->launch.buffers[1].address, pointer);
  EXPECT_FALSE(bound->launch.buffers[1].writable);

  const HostTensor misaligned[] = {{address + 4, sizeof(values) - 4, true}};
  const auto refused = bind(**program, plan, misaligned);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, diag::Kind::TensorMapRule);
}

TEST_F(RunTest, ThreadsMayRunOneImageAtOnce) {
  KernelImage image(kernels::kAdd, "sm_90a", kernels::add_plan(100), nullptr);
  std::vector<std::vector<float>> results(4, std::vector<float>(100, 0.0F));
  std::vector<std::thread> threads;
  for (auto& result : results) {
    threads.emplace_back([&] {
      const HostTensor tensors[] = {tensor(a), tensor(b), tensor(result)};
      emu::Options options;
      options.threads = 1;
      EXPECT_TRUE(emulate(image, tensors, options));
    });
  }
  for (auto& thread : threads) thread.join();
  for (const auto& result : results) EXPECT_EQ(result[99], a[99] + b[99]);
}

}  // namespace
}  // namespace pyptx::interop
