// SPDX-License-Identifier: Apache-2.0
//
// pyptx doctor on machines with a driver, which the fake one plays.
#include <gmock/gmock.h>

#include <algorithm>

#include "fake_driver.h"
#include "pyptx/cli/doctor.h"
#include "pyptx/driver/assemble.h"
#include "pyptx/driver/device.h"

namespace pyptx::cli {
namespace {

using testing::HasSubstr;
using State = Finding::State;

class DoctorGpuTest : public driver::FakeDriverTest {
 protected:
  void SetUp() override {
    FakeDriverTest::SetUp();
    if (!driver::available()) GTEST_SKIP() << "this process has looked for the real driver before";
  }
  void TearDown() override {
    FakeDriverTest::TearDown();
    cuda().reset();  // the tests of other suites see the same driver
  }
  static std::vector<Finding> of_part(std::string_view part) {
    std::vector<Finding> out = examine();
    std::erase_if(out, [&](const Finding& finding) { return finding.part != part; });
    return out;
  }
};

TEST_F(DoctorGpuTest, ListsTheDevices) {
  const auto devices = of_part("device");
  ASSERT_EQ(devices.size(), static_cast<std::size_t>(fake::kDevices));
  EXPECT_EQ(devices[1].subject, "1");
  EXPECT_THAT(devices[0].detail, HasSubstr("sm_90a"));
  const auto drivers = of_part("driver");
  ASSERT_EQ(drivers.size(), 1U);
  EXPECT_EQ(drivers[0].state, State::Good);
  EXPECT_EQ(drivers[0].detail, "CUDA 13.0");
}

TEST_F(DoctorGpuTest, ACompilerThatIsNewerThanTheDriverIsBroken) {
  const auto used = driver::find_compiler();
  ASSERT_TRUE(used.ok());
  if (used->kind == driver::Compiler::DriverJit) GTEST_SKIP() << "only the driver's is here";
  const auto state_of_used = [] {
    const auto all = of_part("compiler");
    const auto found = std::ranges::find_if(
        all, [](const Finding& one) { return one.detail.find("(used)") != std::string::npos; });
    return found == all.end() ? Finding{} : *found;
  };
  EXPECT_EQ(state_of_used().state, State::Good);
  cuda().version = 11080;
  const Finding old = state_of_used();
  EXPECT_EQ(old.state, State::Broken);
  EXPECT_THAT(old.detail, HasSubstr("the driver is of CUDA 11.8"));
  EXPECT_THAT(old.remedy, HasSubstr("nvidia-nvjitlink-cu11"));
}

}  // namespace
}  // namespace pyptx::cli
