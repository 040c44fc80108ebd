// SPDX-License-Identifier: Apache-2.0
//
// Owned memory, streams and events through the fake driver: bytes arrive, everything is given back,
// and the caller's context is left as it was.
#include "pyptx/driver/memory.h"

#include <gmock/gmock.h>

#include <numeric>
#include <utility>
#include <vector>

#include "cuda_abi.h"
#include "fake_driver.h"

namespace pyptx::driver {
namespace {

using testing::HasSubstr;

class MemoryTest : public FakeDriverTest {
 protected:
  void TearDown() override {
    EXPECT_EQ(library().context_depth(), 0) << "a context was left behind";
    FakeDriverTest::TearDown();
  }
  static Stream stream(int device = 0) {
    auto made = Stream::create(device);
    EXPECT_TRUE(made) << made.error().message();
    return std::move(*made);
  }
};

TEST_F(MemoryTest, BytesGoThereAndBack) {
  const Stream queue = stream(1);
  std::vector<unsigned char> sent(1000);
  std::iota(sent.begin(), sent.end(), 0);
  {
    const auto memory = DeviceMemory::allocate(1, sent.size());
    ASSERT_TRUE(memory) << memory.error().message();
    EXPECT_EQ(memory->bytes(), sent.size());
    EXPECT_EQ(memory->device(), 1);
    EXPECT_NE(memory->address(), 0U);
    ASSERT_TRUE(memory->copy_from(sent.data(), queue));
    std::vector<unsigned char> got(sent.size());
    ASSERT_TRUE(memory->copy_to(got.data(), queue));
    ASSERT_TRUE(queue.synchronize());
    EXPECT_EQ(got, sent);
    EXPECT_EQ(count("cuMemFree"), 0);
  }
  EXPECT_EQ(count("cuMemFree"), 1);
}

TEST_F(MemoryTest, NoBytesNeedNoDevice) {
  const auto memory = DeviceMemory::allocate(0, 0);
  ASSERT_TRUE(memory);
  EXPECT_EQ(memory->address(), 0U);
  const Stream queue = stream();
  EXPECT_TRUE(memory->copy_from(nullptr, queue));
  EXPECT_TRUE(memory->copy_to(nullptr, queue));
  EXPECT_EQ(count("cuMemAlloc"), 0);
}

TEST_F(MemoryTest, OwnershipMoves) {
  auto first = DeviceMemory::allocate(0, 64);
  ASSERT_TRUE(first);
  {
    const DeviceMemory second = std::move(*first);
    const Stream queue = stream();
    const Stream other = stream(2);
    EXPECT_EQ(other.device(), 2);
  }
  EXPECT_EQ(count("cuMemFree"), 1);
  EXPECT_EQ(count("cuStreamDestroy"), 2);
}

TEST_F(MemoryTest, FailuresAreReported) {
  cuda().failures["cuMemAlloc"] = cuda::kOutOfMemory;
  const auto memory = DeviceMemory::allocate(0, 64);
  ASSERT_FALSE(memory);
  EXPECT_EQ(memory.error().kind, diag::Kind::CudaError);
  EXPECT_THAT(memory.error().message(), HasSubstr("cuMemAlloc"));
  EXPECT_EQ(count("cuMemFree"), 0);
  cuda().failures["cuStreamCreate"] = cuda::kOutOfMemory;
  EXPECT_FALSE(Stream::create(0));
  cuda().failures["cuEventCreate"] = cuda::kOutOfMemory;
  EXPECT_FALSE(Event::create(0));
  EXPECT_EQ(Stream::create(7).error().kind, diag::Kind::NoSuchDevice);
}

TEST_F(MemoryTest, EventsMeasureAndOrder) {
  const Stream queue = stream();
  const Stream other = stream();
  const auto start = Event::create(0);
  const auto end = Event::create(0);
  ASSERT_TRUE(start && end);
  EXPECT_FALSE(end->milliseconds_since(*start)) << "not recorded yet";
  ASSERT_TRUE(queue.record(*start));
  ASSERT_TRUE(queue.record(*end));
  ASSERT_TRUE(other.wait(*end));
  ASSERT_TRUE(end->synchronize());
  const auto time = end->milliseconds_since(*start);
  ASSERT_TRUE(time);
  EXPECT_EQ(*time, 1.0F);
  EXPECT_EQ(count("cuStreamWaitEvent"), 1);
}

}  // namespace
}  // namespace pyptx::driver
