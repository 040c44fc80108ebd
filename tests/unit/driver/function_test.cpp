// SPDX-License-Identifier: Apache-2.0
#include "pyptx/driver/function.h"

#include <gmock/gmock.h>

#include <cstring>

#include "cuda_abi.h"
#include "fake_driver.h"

namespace pyptx::driver {
namespace {

using testing::ElementsAre;
using testing::Pair;

class FunctionTest : public FakeDriverTest {};

TEST_F(FunctionTest, LaunchesWhatItIsGiven) {
  int somebody_elses = 0;
  FunctionLaunch launch;
  launch.function = &somebody_elses;
  launch.grid = {4, 2, 1};
  launch.block = {32, 1, 1};
  launch.cluster = {2, 1, 1};
  launch.dynamic_shared = 512;
  alignas(64) unsigned char parameters[] = {1, 2, 3, 4};
  const auto status = launch_function(launch, nullptr, 1, parameters);
  ASSERT_TRUE(status.ok()) << status.error().message();
  const fake::Launch& got = cuda().launches.at(0);
  EXPECT_EQ(got.function, &somebody_elses);
  EXPECT_THAT(got.grid, ElementsAre(4, 2, 1));
  EXPECT_EQ(got.shared, 512U);
  EXPECT_EQ(got.context_device, 1);
  EXPECT_THAT(got.parameters, ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(got.attributes, ElementsAre(Pair(4, ElementsAre(2, 1, 1))));
  EXPECT_EQ(library().context_depth(), 0);

  launch.cluster = {};
  ASSERT_TRUE(launch_function(launch, nullptr, 0, {}).ok());
  EXPECT_TRUE(cuda().launches.at(1).attributes.empty());
  EXPECT_TRUE(cuda().launches.at(1).parameters.empty());
}

TEST_F(FunctionTest, ReportsErrors) {
  EXPECT_EQ(launch_function({}, nullptr, 9, {}).error().code(), "PTX0703");
  cuda().failures["cuLaunchKernelEx"] = cuda::kInvalidHandle;
  EXPECT_EQ(launch_function({}, nullptr, 0, {}).error().code(), "PTX0702");
}

TEST_F(FunctionTest, AMapMovesByCopy) {
  EncodedMap map;
  map.bytes[100] = 7;
  const auto moved = with_address(map, 0x4000);
  ASSERT_TRUE(moved.ok());
  std::uint64_t address = 0;
  std::memcpy(&address, moved->bytes.data(), sizeof address);
  EXPECT_EQ(address, 0x4000U);
  EXPECT_EQ(moved->bytes[100], 7);
  EXPECT_EQ(map.bytes[0], 0) << "the original is as it was";
}

}  // namespace
}  // namespace pyptx::driver
