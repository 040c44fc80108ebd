// SPDX-License-Identifier: Apache-2.0
#include "pyptx/driver/device.h"

#include <gmock/gmock.h>

#include "cuda_api.h"
#include "fake_driver.h"

namespace pyptx::driver {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class DeviceTest : public FakeDriverTest {
 protected:
  static cuda::Api api() {
    auto opened = open_api(PYPTX_FAKE_CUDA);
    EXPECT_TRUE(opened.ok());
    return *opened;
  }
};

TEST_F(DeviceTest, DescribesTheMachine) {
  ASSERT_TRUE(available().ok());
  EXPECT_EQ(*driver_version(), 13000);
  EXPECT_EQ(*device_count(), fake::kDevices);
  const DeviceInfo& first = **device(0);
  EXPECT_EQ(first.name, "Fake H200");
  EXPECT_EQ(first.target, "sm_90a");
  EXPECT_EQ(first.shared_optin, 232448U);
  EXPECT_EQ(first.l2_bytes, 50U << 20U);
  EXPECT_TRUE(first.clusters);
  EXPECT_EQ((*device(2))->target, "sm_80");
  EXPECT_FALSE((*device(2))->clusters);
}

TEST_F(DeviceTest, NamesTargets) {
  EXPECT_EQ(target_of(8, 9), "sm_89");
  EXPECT_EQ(target_of(9, 0), "sm_90a");
  EXPECT_EQ(target_of(10, 3), "sm_103a");
  EXPECT_EQ(target_of(12, 0), "sm_120a");
}

TEST_F(DeviceTest, RefusesAnUnknownOrdinal) {
  for (const int ordinal : {-1, fake::kDevices, 1000}) {
    const auto found = device(ordinal);
    ASSERT_FALSE(found.ok());
    EXPECT_EQ(found.error().code(), "PTX0703");
  }
  EXPECT_EQ(device(7).error().message(), "there is no CUDA device 7; this machine has 3");
}

TEST_F(DeviceTest, CurrentDeviceFollowsTheContext) {
  EXPECT_EQ(*current_device(), 0);
  library().set_context(1);
  EXPECT_EQ(*current_device(), 1);
}

TEST_F(DeviceTest, SaysWhyThereIsNoLibrary) {
  const auto opened = open_api("/nowhere/libcuda.so.1");
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.error().code(), "PTX0701");
  EXPECT_THAT(opened.error().message(), HasSubstr("/nowhere/libcuda.so.1 cannot be opened"));
  EXPECT_THAT(opened.error()->notes, ElementsAre(HasSubstr("No such file")));
}

TEST_F(DeviceTest, RefusesALibraryThatIsNotTheDriver) {
  const auto opened = open_api("libm.so.6");
  ASSERT_FALSE(opened.ok());
  EXPECT_THAT(opened.error().message(), HasSubstr("older than CUDA 12.0"));
  EXPECT_THAT(opened.error()->notes, ElementsAre(HasSubstr("cuInit, cuDriverGetVersion")));
}

TEST_F(DeviceTest, SaysWhyItDoesNotStart) {
  cuda().failures["cuInit"] = cuda::kNoDevice;
  auto started = start(api());
  ASSERT_FALSE(started.ok());
  EXPECT_EQ(started.error().message(),
            "CUDA is not available: cuInit failed with CUDA_ERROR_FAKE: a fake error");
  EXPECT_THAT(started.error()->notes, ElementsAre(HasSubstr("CUDA_VISIBLE_DEVICES")));

  cuda().failures.clear();
  cuda().device_count = 0;
  started = start(api());
  ASSERT_FALSE(started.ok());
  EXPECT_EQ(started.error().message(), "CUDA is not available: there is no device");

  cuda().device_count = 1;
  cuda().failures["cuDeviceGetAttribute"] = 1;
  EXPECT_EQ(start(api()).error().code(), "PTX0702");
}

TEST_F(DeviceTest, ErrorsWithoutWordsKeepTheirNumber) {
  EXPECT_EQ(cuda_error(api(), "cuFoo", 999).message(),
            "cuFoo failed with error 999: the driver has no words for it");
  EXPECT_TRUE(cuda_error(api(), "cuFoo", 999)->notes.empty());
  EXPECT_THAT(cuda_error(api(), "cuFoo", cuda::kNotInitialized)->notes,
              ElementsAre(HasSubstr("fork")));
}

TEST(CodeTarget, IsTheDevicesOwnWhereTheTextMayRun) {
  DeviceInfo hopper;
  hopper.major = 9;
  hopper.target = "sm_90a";
  EXPECT_EQ(*code_target("sm_80", hopper), "sm_90");
  EXPECT_EQ(*code_target("sm_90a", hopper), "sm_90a");
  DeviceInfo blackwell;
  blackwell.major = 10;
  blackwell.minor = 3;
  blackwell.target = "sm_103a";
  EXPECT_EQ(*code_target("sm_100f", blackwell), "sm_103f");
  EXPECT_EQ(*code_target("sm_90", blackwell), "sm_103");
  for (const char* other : {"sm_90a", "sm_100a", "sm_120", "sm_120f", "compute_90", "sm_"}) {
    const auto refused = code_target(other, blackwell);
    ASSERT_FALSE(refused) << other;
    EXPECT_EQ(refused.error().kind, diag::Kind::TargetMismatch);
  }
  EXPECT_EQ(code_target("sm_90a", blackwell).error().message(),
            "the kernel is for sm_90a, but device 0 is sm_103a");
}

}  // namespace
}  // namespace pyptx::driver
