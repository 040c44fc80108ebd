// SPDX-License-Identifier: Apache-2.0
//
// Calls on a device's memory, through the fake CUDA driver.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "allocations.h"
#include "fake_driver.h"
#include "kernels.h"
#include "pyptx/diag/render.h"

namespace pyptx {
namespace {

using namespace pyptx::types;

template <typename T>
T at(const std::vector<unsigned char>& block, std::size_t offset) {
  T value{};
  EXPECT_LE(offset + sizeof(T), block.size());
  std::memcpy(&value, block.data() + offset, sizeof(T));
  return value;
}

class DeviceCallTest : public driver::FakeDriverTest {
 protected:
  void SetUp() override {
    setenv("PYPTX_CACHE", "0", 1);
    FakeDriverTest::SetUp();
    cuda().entries = {"axpy", "scale", "split", "nothing"};
  }

  static TensorView vector(std::uint64_t address, std::int64_t size, int ordinal = 0) {
    return device(address, {size}, f32, {.ordinal = ordinal});
  }
  static const fake::Launch& last() { return cuda().launches.back(); }
};

TEST_F(DeviceCallTest, ALaunchIsWhatTheCallSays) {
  const auto axpy = kernels::axpy();
  cuda().parameters = {{0, 8}, {8, 8}, {16, 4}, {20, 4}};
  void* stream = library().stream(1, false);
  const auto done = axpy(vector(0x1000, 100, 1), inout(vector(0x2000, 100, 1)), 3.0, on(stream));
  ASSERT_TRUE(done) << diag::render(done.error(), nullptr);
  ASSERT_EQ(cuda().launches.size(), 1U);
  EXPECT_EQ(last().grid[0], 2U);
  EXPECT_EQ(last().block[0], kernels::kThreads);
  EXPECT_EQ(last().stream, stream);
  EXPECT_EQ(last().context_device, 1);
  EXPECT_EQ(at<std::uint64_t>(last().parameters, 0), 0x1000U);
  EXPECT_EQ(at<std::uint64_t>(last().parameters, 8), 0x2000U);
  EXPECT_EQ(at<float>(last().parameters, 16), 3.0F);
  EXPECT_EQ(at<std::uint32_t>(last().parameters, 20), 100U);
}

TEST_F(DeviceCallTest, ASizeOfTheLaunchIsLoadedOnce) {
  const auto axpy = kernels::axpy();
  for (const std::int64_t size : {100, 1000, 100, 5000}) {
    ASSERT_TRUE(axpy(vector(0x1000, size), inout(vector(0x2000, size))));
    EXPECT_EQ(last().grid[0], static_cast<unsigned>((size + 63) / 64));
  }
  EXPECT_LE(count("cuLibraryLoadData"), 1);
}

TEST_F(DeviceCallTest, ACallThatWasMetAllocatesNothing) {
  const auto scale = kernels::scale();
  const auto split = kernels::split();
  const kernels::Scale half{.factor = 0.5};
  const auto call = [&] {
    const bool scaled = scale(vector(0x1000, 64), out("Y", vector(0x2000, 64)), half).ok();
    const auto rows = [](std::uint64_t address) {
      return device(address, {2, 4}, u32, {.strides = {8, 1}});
    };
    return scaled && split(rows(0x1000), out(rows(0x1010)), out(rows(0x2000))).ok();
  };
  ASSERT_TRUE(call());
  ASSERT_TRUE(call());
  cuda().recording = false;
  const auto before = allocations_so_far();
  EXPECT_TRUE(call());
  EXPECT_EQ(allocations_so_far(), before);
  cuda().recording = true;
}

TEST_F(DeviceCallTest, AutoIsTheTargetOfTheDevice) {
  const auto axpy = kernels::axpy(/*is_auto=*/true);
  const auto text = axpy.ptx();
  ASSERT_TRUE(text);
  EXPECT_THAT(*text, testing::HasSubstr(".target sm_90a"));
  EXPECT_TRUE(axpy(vector(0x1000, 8, 2), inout(vector(0x2000, 8, 2))));
  EXPECT_TRUE(axpy(vector(0x1000, 8), inout(vector(0x2000, 8))));
  EXPECT_EQ(last().context_device, 0);
}

TEST_F(DeviceCallTest, AKernelWithoutTensorsIsLaunchedWhereItIsSaid) {
  const auto nothing = kernel("nothing", {}, {.block = {32}}, [] { ptx::ret(); });
  ASSERT_TRUE(nothing(on(nullptr, 1)));
  ASSERT_TRUE(nothing(on(nullptr, 1)));
  EXPECT_EQ(last().context_device, 1);
}

TEST_F(DeviceCallTest, WhatCannotBeLaunchedIsRefusedInWords) {
  const auto axpy = kernels::axpy();
  const auto refused = [](const diag::Status& status) {
    return status ? std::string("launched")
                  : std::string(status.error().code()) + " " + status.error().message();
  };
  std::vector<float> x(8);
  EXPECT_EQ(refused(axpy(x, inout(vector(0x2000, 8)))),
            "PTX0847 kernel 'axpy': output 'Y' is on cuda:0, the inputs are on cpu; make it there, "
            "or drop out=");
  EXPECT_EQ(refused(axpy(vector(0x1000, 8), inout(vector(0x2000, 8, 1)))),
            "PTX0847 kernel 'axpy': output 'Y' is on cuda:1, the inputs are on cuda:0; make it "
            "there, or drop out=");
  EXPECT_EQ(refused(axpy(vector(0, 8), inout(vector(0x2000, 8)))),
            "PTX0708 tensor 0 of 'axpy' must have an address, got null");
  EXPECT_EQ(refused(axpy(vector(0x1000, 8), inout(vector(0x2000, 8)), on(nullptr, 1))),
            "PTX0866 kernel 'axpy': on(...) must be of cuda:0, where the tensors are, got one of "
            "cuda:1");
  std::vector<float> y(8);
  EXPECT_EQ(refused(axpy(x, inout(y), on(library().stream(0, false)))),
            "PTX0866 kernel 'axpy': the emulator has no streams; drop on(...)");
  EXPECT_TRUE(cuda().launches.empty());
  const auto emulated = axpy.emulate({}, vector(0x1000, 8), inout(vector(0x2000, 8)));
  ASSERT_FALSE(emulated);
  EXPECT_EQ(emulated.error().code(), "PTX0847");
}

}  // namespace
}  // namespace pyptx
