// SPDX-License-Identifier: Apache-2.0
//
// Launches through the fake CUDA driver: what reaches the driver is what the plan says.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <vector>

#include "fake_driver.h"
#include "kernels.h"
#include "pyptx/driver/tensor_map.h"
#include "pyptx/interop/registry.h"
#include "pyptx/interop/run.h"

namespace pyptx::interop {
namespace {

template <typename T>
T at(const std::vector<unsigned char>& block, std::size_t offset) {
  T value{};
  EXPECT_LE(offset + sizeof(T), block.size());
  std::memcpy(&value, block.data() + offset, sizeof(T));
  return value;
}

class LaunchTest : public driver::FakeDriverTest {
 protected:
  void SetUp() override {
    setenv("PYPTX_CACHE", "0", 1);
    FakeDriverTest::SetUp();
  }

  static std::shared_ptr<KernelImage> add_image() {
    take_parameters_of(kernels::add_plan(100));
    return Registry::instance().intern(kernels::kAdd, "sm_90a", kernels::add_plan(100));
  }
  static RawLaunch raw_launch() {
    RawLaunch launch;
    launch.function = 0x5000;
    launch.grid = {7, 2, 1};
    launch.block = {64, 1, 1};
    launch.cluster = {1, 2, 1};
    launch.dynamic_shared = 1024;
    return launch;
  }
};

TEST_F(LaunchTest, AnImageIsLaunchedAsItsPlanSays) {
  const auto image = add_image();
  const std::uint64_t pointers[] = {0x1000, 0x2000, 0x3000};
  void* stream = reinterpret_cast<void*>(0x7770);
  const auto launched = launch(*image, 1, stream, pointers);
  ASSERT_TRUE(launched) << launched.error().message();
  ASSERT_EQ(cuda().launches.size(), 1U);
  const fake::Launch& seen = cuda().launches[0];
  EXPECT_EQ(seen.grid[0], 4U);
  EXPECT_EQ(seen.block[0], 32U);
  EXPECT_EQ(seen.stream, stream);
  EXPECT_EQ(at<std::uint64_t>(seen.parameters, 0), 0x1000U);
  EXPECT_EQ(at<std::uint64_t>(seen.parameters, 16), 0x3000U);
  EXPECT_EQ(at<std::uint32_t>(seen.parameters, 24), 100U);

  ASSERT_TRUE(launch(*image, 1, stream, pointers));
  EXPECT_EQ(cuda().launches.size(), 2U);
  EXPECT_LE(count("cuLibraryLoadData"), 1) << "loaded once";
}

TEST_F(LaunchTest, AWrongNumberOfTensorsLaunchesNothing) {
  const std::uint64_t pointers[] = {0x1000, 0x2000};
  const auto launched = launch(*add_image(), 0, nullptr, pointers);
  ASSERT_FALSE(launched);
  EXPECT_EQ(launched.error().kind, diag::Kind::TensorCount);
  EXPECT_TRUE(cuda().launches.empty());
}

TEST_F(LaunchTest, TheCEntryLaunchesAnImageOnTheCurrentDevice) {
  const std::int64_t handle = Registry::instance().handle_of(add_image());
  library().set_context(1);
  void* pointers[] = {reinterpret_cast<void*>(0x10), reinterpret_cast<void*>(0x20),
                      reinterpret_cast<void*>(0x30)};
  ASSERT_EQ(pyptx_shim_launch_raw(handle, nullptr, pointers, 3), 0) << pyptx_shim_last_error();
  ASSERT_EQ(cuda().launches.size(), 1U);
  EXPECT_EQ(cuda().launches[0].context_device, 1);
  EXPECT_EQ(at<std::uint64_t>(cuda().launches[0].parameters, 8), 0x20U);
}

TEST_F(LaunchTest, TheCEntryLetsNoExceptionPass) {
  const std::int64_t handle = Registry::instance().new_handle();
  ASSERT_TRUE(Registry::instance().set_raw(handle, raw_launch()));
  library().set_context(0);
  cuda().failures["cuLaunchKernelEx"] = fake::kThrows;
  void* pointers[] = {reinterpret_cast<void*>(0x10)};
  EXPECT_EQ(pyptx_shim_launch_raw(handle, nullptr, pointers, 1), 1);
  EXPECT_THAT(pyptx_shim_last_error(), testing::HasSubstr("PTX0820"));
}

TEST_F(LaunchTest, ARawLaunchPacksPointersScalarsThenMaps) {
  const std::int64_t handle = Registry::instance().new_handle();
  ASSERT_TRUE(Registry::instance().set_raw(handle, raw_launch()));
  ASSERT_TRUE(Registry::instance().add_scalar(handle, {0xAABBCCDD, 4}));
  ASSERT_TRUE(Registry::instance().add_scalar(handle, {0x1122334455667788, 8}));
  ASSERT_TRUE(Registry::instance().add_scalar(handle, {0x99, 1}));
  const std::uint64_t pointers[] = {0x1000, 0x2000};
  ASSERT_TRUE(Registry::instance().launch(handle, 0, nullptr, pointers));
  ASSERT_EQ(cuda().launches.size(), 1U);
  const fake::Launch& seen = cuda().launches[0];
  EXPECT_EQ(seen.function, reinterpret_cast<void*>(0x5000));
  EXPECT_EQ(seen.grid[0], 7U);
  EXPECT_EQ(seen.shared, 1024U);
  ASSERT_EQ(seen.attributes.size(), 1U);
  EXPECT_EQ(seen.attributes[0].second, (std::vector<unsigned>{1, 2, 1}));
  EXPECT_EQ(at<std::uint64_t>(seen.parameters, 8), 0x2000U);
  EXPECT_EQ(at<std::uint32_t>(seen.parameters, 16), 0xAABBCCDDU);
  EXPECT_EQ(at<std::uint64_t>(seen.parameters, 24), 0x1122334455667788U) << "at its alignment";
  EXPECT_EQ(at<std::uint8_t>(seen.parameters, 32), 0x99U);
  EXPECT_EQ(seen.parameters.size(), 33U);
}

TEST_F(LaunchTest, ARawMapIsCopiedNotPatched) {
  layout::TensorMap map;
  map.type = layout::MapType::BF16;
  map.rank = 2;
  map.dims = {64, 64};
  map.strides = {128};
  map.box = {64, 64};
  auto encoded = driver::encode_map(map, 0x4000);
  ASSERT_TRUE(encoded) << encoded.error().message();
  const driver::EncodedMap before = *encoded;

  const std::int64_t handle = Registry::instance().new_handle();
  ASSERT_TRUE(Registry::instance().set_raw(handle, raw_launch()));
  ASSERT_TRUE(Registry::instance().add_map(
      handle, {1, reinterpret_cast<std::uintptr_t>(encoded->bytes.data()), 0}));
  const std::uint64_t first[] = {0x1000, 0x20000};
  const std::uint64_t second[] = {0x1000, 0x30000};
  ASSERT_TRUE(Registry::instance().launch(handle, 0, nullptr, first));
  ASSERT_TRUE(Registry::instance().launch(handle, 0, nullptr, second));
  EXPECT_EQ(*encoded, before) << "the caller's map is the caller's";
  ASSERT_EQ(cuda().launches.size(), 2U);
  const auto one = at<std::uint64_t>(cuda().launches[0].parameters, 16);
  const auto other = at<std::uint64_t>(cuda().launches[1].parameters, 16);
  EXPECT_NE(one, other) << "a launch in flight must not see the next one's map";
  EXPECT_EQ(*reinterpret_cast<const std::uint64_t*>(one), 0x20000U);
  EXPECT_EQ(*reinterpret_cast<const std::uint64_t*>(other), 0x30000U);

  const std::uint64_t missing[] = {0x1000};
  EXPECT_FALSE(Registry::instance().launch(handle, 0, nullptr, missing));
  library().set_own_context(0);  // it has no memory of the primary context's
  EXPECT_FALSE(Registry::instance().launch(handle, 0, nullptr, first));
  EXPECT_EQ(cuda().launches.size(), 2U);
}

TEST_F(LaunchTest, TooManyParametersAreRefused) {
  const std::int64_t handle = Registry::instance().new_handle();
  ASSERT_TRUE(Registry::instance().set_raw(handle, raw_launch()));
  const std::vector<std::uint64_t> pointers(513, 0x1000);
  const auto launched = Registry::instance().launch(handle, 0, nullptr, pointers);
  ASSERT_FALSE(launched);
  EXPECT_EQ(launched.error().kind, diag::Kind::LaunchShape);
}

}  // namespace
}  // namespace pyptx::interop
