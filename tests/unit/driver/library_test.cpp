// SPDX-License-Identifier: Apache-2.0
#include "pyptx/driver/library.h"

#include <gmock/gmock.h>

#include <thread>
#include <vector>

#include "cuda_abi.h"
#include "fake_driver.h"

namespace pyptx::driver {
namespace {

using testing::ElementsAre;

constexpr const char* kSetShared = "cuKernelSetAttribute 8=100000 on 1";
constexpr const char* kSetCluster = "cuKernelSetAttribute 14=1 on 0";

class LibraryTest : public FakeDriverTest {
 protected:
  static std::shared_ptr<Kernel> load(const std::string& cubin, const std::string& entry) {
    auto kernel = load_kernel(cubin, entry);
    EXPECT_TRUE(kernel.ok()) << kernel.error().message();
    return *kernel;
  }
};

TEST_F(LibraryTest, LoadsOneContentOnce) {
  cuda().entries = {"kernel", "other"};
  const auto first = load("content a", "kernel");
  EXPECT_EQ(load("content a", "kernel"), first);
  EXPECT_EQ(count("cuLibraryLoadData"), 1);
  EXPECT_NE(load("content a", "other"), first);
  EXPECT_EQ(count("cuLibraryLoadData"), 1);
  EXPECT_NE(load("content b", "kernel"), first);
  EXPECT_EQ(count("cuLibraryLoadData"), 2);
}

TEST_F(LibraryTest, SaysWhatIsMissing) {
  const auto kernel = load_kernel("content a", "absent");
  ASSERT_FALSE(kernel.ok());
  EXPECT_EQ(kernel.error().code(), "PTX0711");
  EXPECT_EQ(kernel.error().message(), "the cubin has no kernel 'absent'");
  cuda().failures["cuLibraryLoadData"] = cuda::kNoBinaryForGpu;
  const auto library = load_kernel("content for another device", "kernel");
  ASSERT_FALSE(library.ok());
  EXPECT_EQ(library.error().code(), "PTX0702");
  EXPECT_FALSE(library.error()->notes.empty());
  // A failed load is not remembered.
  cuda().failures.clear();
  EXPECT_TRUE(load_kernel("content for another device", "kernel").ok());
}

TEST_F(LibraryTest, PreparesOncePerDevice) {
  const auto kernel = load("prepare once", "kernel");
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(kernel->prepare(0, 1024, 1).ok());
  EXPECT_EQ(count("cuKernelGetFunction"), 1);
  ASSERT_TRUE(kernel->prepare(1, 1024, 1).ok());
  EXPECT_EQ(count("cuKernelGetFunction"), 2);
  EXPECT_EQ(library().context_depth(), 0) << "the context was not taken off again";
}

TEST_F(LibraryTest, AnApplicationsOwnContextIsPreparedToo) {
  const auto kernel = load("prepared in two contexts", "kernel");
  ASSERT_TRUE(kernel->prepare(0, 0, 1).ok());
  library().set_own_context(0);
  ASSERT_TRUE(kernel->prepare(0, 0, 1).ok());
  EXPECT_EQ(count("cuKernelGetFunction"), 2) << "a capture there would have to load it";
}

TEST_F(LibraryTest, AsksForSharedMemoryWhenItMust) {
  const auto kernel = load("shared", "kernel");
  ASSERT_TRUE(kernel->prepare(1, 49152, 1).ok());
  EXPECT_EQ(count(kSetShared), 0);
  ASSERT_TRUE(kernel->prepare(1, 100000, 1).ok());
  ASSERT_TRUE(kernel->prepare(1, 100000, 1).ok());
  ASSERT_TRUE(kernel->prepare(1, 50000, 1).ok()) << "a smaller plan must not lower the limit";
  EXPECT_EQ(count(kSetShared), 1);
  EXPECT_EQ(count("cuKernelSetAttribute 8=50000 on 1"), 0);
}

TEST_F(LibraryTest, StaticSharedMemoryCounts) {
  const auto kernel = load("static shared", "kernel");
  cuda().static_shared = 40000;
  ASSERT_TRUE(kernel->prepare(0, 20000, 1).ok());
  EXPECT_EQ(count("cuKernelSetAttribute 8=20000 on 0"), 1);
  const auto status = kernel->prepare(0, 200000, 1);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().message(),
            "'kernel' needs 240000 bytes of shared memory per block, device 0 has 232448");
  EXPECT_THAT(status.error()->notes, ElementsAre("40000 bytes are static, 200000 dynamic"));
}

TEST_F(LibraryTest, RefusesMoreSharedMemoryThanTheDeviceHas) {
  const auto kernel = load("too much shared", "kernel");
  const auto status = kernel->prepare(0, 4000000000U, 1);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code(), "PTX0706");
  EXPECT_TRUE(kernel->prepare(0, 100, 1).ok());
}

TEST_F(LibraryTest, AllowsLargeClusters) {
  const auto kernel = load("clusters", "kernel");
  ASSERT_TRUE(kernel->prepare(0, 0, 8).ok());
  EXPECT_EQ(count(kSetCluster), 0);
  ASSERT_TRUE(kernel->prepare(0, 0, 16).ok());
  ASSERT_TRUE(kernel->prepare(0, 0, 16).ok());
  EXPECT_EQ(count(kSetCluster), 1);
}

TEST_F(LibraryTest, LoadsDuringACapture) {
  cuda().capturing = true;
  auto kernel = load_kernel("captured", "kernel");
  ASSERT_TRUE(kernel.ok()) << kernel.error().message();
  const auto status = (*kernel)->prepare(0, 100000, 16);
  EXPECT_TRUE(status.ok()) << status.error().message();
}

TEST_F(LibraryTest, FailuresPutEverythingBack) {
  const auto kernel = load("failing", "kernel");
  cuda().failures["cuKernelGetFunction"] = cuda::kOutOfMemory;
  const auto status = kernel->prepare(1, 0, 1);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().message(),
            "cuKernelGetFunction failed with CUDA_ERROR_OUT_OF_MEMORY: out of memory");
  EXPECT_EQ(library().context_depth(), 0);
  cuda().failures.clear();
  EXPECT_TRUE(kernel->prepare(1, 0, 1).ok());
}

TEST_F(LibraryTest, ReportsResources) {
  const auto kernel = load("resources", "kernel");
  cuda().static_shared = 128;
  const auto resources = kernel->resources(0);
  ASSERT_TRUE(resources.ok());
  EXPECT_EQ(resources->registers, 64);
  EXPECT_EQ(resources->static_shared, 128);
  EXPECT_EQ(resources->max_threads, 1024);
}

TEST_F(LibraryTest, ThreadsLoadAndPrepareOnce) {
  std::vector<std::thread> threads;
  std::atomic<int> failed = 0;
  for (int i = 0; i < 10; ++i) {
    threads.emplace_back([&failed] {
      auto kernel = load_kernel("threads", "kernel");
      if (!kernel || !(*kernel)->prepare(1, 100000, 1)) ++failed;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failed, 0);
  EXPECT_EQ(count("cuLibraryLoadData"), 1);
  EXPECT_EQ(count("cuKernelGetFunction"), 1);
  EXPECT_EQ(count(kSetShared), 1);
}

}  // namespace
}  // namespace pyptx::driver
