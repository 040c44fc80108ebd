// SPDX-License-Identifier: Apache-2.0
//
// A launch with known tensors allocates nothing.
#include <gtest/gtest.h>

#include "allocations.h"
#include "fake_driver.h"
#include "pyptx/driver/launch.h"

namespace pyptx::driver {
namespace {

class LaunchAllocationTest : public FakeDriverTest {};

TEST_F(LaunchAllocationTest, ARepeatedLaunchAllocatesNothing) {
  LaunchPlan plan;
  plan.entry = "kernel";
  plan.grid = {4, 1, 1};
  plan.block = {128, 1, 1};
  plan.cluster = {2, 1, 1};
  plan.tensor_count = 2;
  plan.tensor_bytes = {4096, 4096};
  plan.params.resize(4);
  plan.params[1].tensor = 1;
  plan.params[1].kind = ParamSlot::Kind::MapValue;
  plan.params[1].map.type = layout::MapType::F32;
  plan.params[1].map.rank = 1;
  plan.params[1].map.dims = {1024};
  plan.params[1].map.box = {64};
  plan.params[2] = plan.params[1];
  plan.params[2].kind = ParamSlot::Kind::MapPointer;
  plan.params[3].kind = ParamSlot::Kind::Argument;
  auto kernel = load_kernel("allocation", "kernel");
  ASSERT_TRUE(kernel.ok());
  auto launcher = Launcher::create(plan, *kernel);
  ASSERT_TRUE(launcher.ok());
  const std::uint64_t pointers[] = {0x1000, 0x2000};
  const std::uint64_t scalars[] = {7};
  const LaunchArguments arguments{pointers, scalars, Dim3{8, 1, 1}};
  library().set_context(0);
  ASSERT_TRUE((*launcher)->launch(nullptr, 0, arguments).ok());

  cuda().recording = false;
  const long before = allocations_so_far();
  ASSERT_TRUE((*launcher)->launch(nullptr, 0, arguments).ok());
  EXPECT_EQ(allocations_so_far(), before);
  EXPECT_EQ(cuda().launch_count, 2);
}

}  // namespace
}  // namespace pyptx::driver
