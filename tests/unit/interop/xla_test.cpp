// SPDX-License-Identifier: Apache-2.0
//
// The XLA handlers, driven by the stand-in of fake_xla.h.
#include "pyptx/interop/xla.h"

#if __has_include("xla/ffi/api/c_api.h")

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "fake_xla.h"
#include "golden.h"
#include "pyptx/interop/registry.h"
#include "xla_call_site.h"

extern "C" XLA_FFI_Error* PyptxLaunch(XLA_FFI_CallFrame* frame);

namespace pyptx::interop::xla {
namespace {

using testing::HasSubstr;

TEST_F(XlaTest, HandlersSayWhatTheyAre) {
  ASSERT_EQ(handlers().size(), 2U);
  const auto execute = describe(cuda_handlers().execute);
  EXPECT_EQ(execute.api_version.major_version, XLA_FFI_API_MAJOR);
  EXPECT_EQ(execute.api_version.minor_version, XLA_FFI_API_MINOR);
  EXPECT_TRUE(execute.traits & XLA_FFI_HANDLER_TRAITS_COMMAND_BUFFER_COMPATIBLE);
  EXPECT_EQ(execute.state_type_id.type_id, 0);
  const auto cuda_type = describe(cuda_handlers().instantiate).state_type_id.type_id;
  const auto cpu_type = describe(cpu_handlers().instantiate).state_type_id.type_id;
  EXPECT_GT(cuda_type, 0);
  EXPECT_GT(cpu_type, 0);
  EXPECT_NE(cuda_type, cpu_type) << "each platform is an XLA of its own";
  EXPECT_EQ(types().size(), 2U) << "registered once";
}

TEST_F(XlaTest, AnOlderXlaIsRefusedAndANewerOneIsNot) {
  for (const Handlers& platform : handlers()) {
    for (void* handler : {platform.instantiate, platform.prepare, platform.execute}) {
      if (handler == nullptr) continue;
      EXPECT_EQ(describe(handler, 1).api_version.minor_version, XLA_FFI_API_MINOR);
      describe(handler, -1, HasSubstr("upgrade jaxlib"));
    }
  }
}

TEST_F(XlaTest, TheCpuPlatformRunsTheEmulator) {
  CallFrame frame;
  frame.kernel(kernels::kAdd, kernels::add_plan(100));
  ASSERT_EQ(frame.call(cpu_handlers().instantiate, &site), "");
  buffers(frame);
  ASSERT_EQ(frame.call(cpu_handlers().execute, &site), "");
  for (const float value : c) ASSERT_EQ(value, 3.5F);
}

TEST_F(XlaTest, AnArgumentIsNotWrittenUnlessAResultSharesIt) {
  CallFrame frame;
  frame.kernel(kernels::kAdd, kernels::add_plan(100));
  ASSERT_EQ(frame.call(cpu_handlers().instantiate, &site), "");
  CallFrame wrong;  // the kernel writes its third tensor, here an argument
  wrong.argument(a.data(), 100);
  wrong.argument(b.data(), 100);
  wrong.argument(c.data(), 100);
  EXPECT_NE(wrong.call(cpu_handlers().execute, &site), "");
  CallFrame in_place;
  in_place.argument(a.data(), 100);
  in_place.argument(b.data(), 100);
  in_place.result(a.data(), 100);
  ASSERT_EQ(in_place.call(cpu_handlers().execute, &site), "");
  EXPECT_EQ(a[99], 3.5F);
}

TEST_F(XlaTest, CudaLaunchesOnXlasStream) {
  take_parameters_of(kernels::add_plan(100));
  CallFrame frame;
  frame.kernel(kernels::kAdd, kernels::add_plan(100));
  ASSERT_EQ(frame.call(cuda_handlers().instantiate, &site), "");
  buffers(frame);
  ASSERT_EQ(frame.call(cuda_handlers().prepare, &site), "");
  const int loads = count("cuLibraryLoadData");
  ASSERT_EQ(frame.call(cuda_handlers().execute, &site), "");
  EXPECT_EQ(count("cuLibraryLoadData"), loads) << "loaded while preparing, not while executing";
  ASSERT_EQ(cuda().launches.size(), 1U);
  const fake::Launch& seen = cuda().launches[0];
  EXPECT_EQ(seen.stream, site.stream);
  EXPECT_EQ(seen.context_device, 1);
  std::uint64_t third = 0;
  ASSERT_EQ(seen.parameters.size(), 28U);
  std::memcpy(&third, seen.parameters.data() + 16, 8);
  EXPECT_EQ(third, reinterpret_cast<std::uintptr_t>(c.data()));
}

TEST_F(XlaTest, AKernelForAnySizeIsThatOfTheBuffers) {
  CallFrame frame;
  frame.string("open", *kernels::open_add().to_bytes());
  ASSERT_EQ(frame.call(cpu_handlers().instantiate, &site), "");
  buffers(frame);
  ASSERT_EQ(frame.call(cpu_handlers().execute, &site), "");
  for (const float value : c) ASSERT_EQ(value, 3.5F);
}

TEST_F(XlaTest, AKernelForAnySizeIsLoadedWhilePreparing) {
  take_parameters_of(kernels::add_plan(100));
  CallFrame frame;
  frame.string("open", *kernels::open_add().to_bytes());
  ASSERT_EQ(frame.call(cuda_handlers().instantiate, &site), "");
  buffers(frame);
  ASSERT_EQ(frame.call(cuda_handlers().prepare, &site), "");
  const int loads = count("cuLibraryLoadData");
  ASSERT_EQ(frame.call(cuda_handlers().execute, &site), "");
  EXPECT_EQ(count("cuLibraryLoadData"), loads);
  ASSERT_EQ(cuda().launches.size(), 1U);
  EXPECT_EQ(cuda().launches[0].grid[0], 4U);
}

TEST_F(XlaTest, AKernelForAnySizeRefusesBuffersThatDisagree) {
  CallFrame frame;
  frame.string("open", *kernels::open_add().to_bytes());
  ASSERT_EQ(frame.call(cpu_handlers().instantiate, &site), "");
  frame.argument(a.data(), 100);
  frame.argument(b.data(), 99);
  frame.result(c.data(), 100);
  EXPECT_THAT(frame.call(cpu_handlers().execute, &site), HasSubstr("PTX0844"));
  CallFrame one;
  one.string("open", *kernels::open_add().at({{"N", 4}})->to_bytes());
  EXPECT_THAT(one.call(cpu_handlers().instantiate, &site), HasSubstr("a kernel for any size"));
}

// XLA prepares before every run, so what is ready must cost nothing there.
TEST_F(XlaTest, EachDeviceIsPreparedOnce) {
  take_parameters_of(kernels::add_plan(100));
  CallFrame frame;
  frame.kernel(kernels::kAdd, kernels::add_plan(100));
  ASSERT_EQ(frame.call(cuda_handlers().instantiate, &site), "");
  buffers(frame);
  for (const int device : {0, 1}) {
    site.device = device;
    ASSERT_EQ(frame.call(cuda_handlers().prepare, &site), "");
    const std::size_t calls = cuda().calls.size();
    ASSERT_EQ(frame.call(cuda_handlers().prepare, &site), "");
    EXPECT_EQ(cuda().calls.size(), calls) << "prepared again on device " << device;
    ASSERT_EQ(frame.call(cuda_handlers().execute, &site), "");
    EXPECT_EQ(cuda().launches.back().context_device, device);
  }
}

// As XLA does for a program over several devices: a thread for each, one call site for all.
TEST_F(XlaTest, DevicesPrepareAndLaunchAtTheSameTime) {
  const auto plan = kernels::add_plan(98);
  take_parameters_of(plan);
  CallFrame made;
  made.kernel(kernels::kAdd, plan);
  ASSERT_EQ(made.call(cuda_handlers().instantiate, &site), "");
  std::vector<std::thread> threads;
  std::vector<std::string> messages(8);
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&, i] {
      Context here = site;
      here.device = i % 2;
      CallFrame frame;
      buffers(frame);
      std::string& message = messages[static_cast<std::size_t>(i)];
      for (int round = 0; round < 20 && message.empty(); ++round) {
        message = frame.call(cuda_handlers().prepare, &here);
        if (message.empty()) message = frame.call(cuda_handlers().execute, &here);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(messages, testing::Each(""));
  EXPECT_EQ(cuda().launch_count, 8 * 20);
}

TEST_F(XlaTest, ArgumentsThatOnlyLendTheirMemoryAreNotPassed) {
  CallFrame frame;
  frame.kernel(kernels::kAdd, kernels::add_plan(100));
  frame.integer("unread", 1);
  ASSERT_EQ(frame.call(cpu_handlers().instantiate, &site), "");
  frame.argument(a.data(), 100);
  frame.argument(b.data(), 100);
  frame.argument(c.data(), 100);
  frame.result(c.data(), 100);
  ASSERT_EQ(frame.call(cpu_handlers().execute, &site), "");
  EXPECT_EQ(c[99], 3.5F);
  CallFrame negative;
  negative.kernel(kernels::kAdd, kernels::add_plan(100));
  negative.integer("unread", -1);
  EXPECT_THAT(negative.call(cpu_handlers().instantiate, &site), HasSubstr("`unread`"));
}

TEST_F(XlaTest, ExecuteAloneServesTooAndHandlesWork) {
  site.has_state = false;
  CallFrame frame;
  frame.kernel(kernels::kAdd, kernels::add_plan(100));
  buffers(frame);
  void* alone = reinterpret_cast<void*>(&PyptxLaunch);
  ASSERT_EQ(frame.call(alone, &site), "");
  ASSERT_EQ(frame.call(alone, &site), "");
  EXPECT_EQ(cuda().launches.size(), 2U);

  const auto image = Registry::instance().intern(kernels::kAdd, "sm_90a", kernels::add_plan(99));
  CallFrame by_handle;
  by_handle.integer("cubin_handle", Registry::instance().handle_of(image));
  buffers(by_handle);
  ASSERT_EQ(by_handle.call(alone, &site), "");
  EXPECT_EQ(cuda().launches.size(), 3U);
  CallFrame unknown;
  unknown.integer("cubin_handle", 424242);
  buffers(unknown);
  EXPECT_THAT(unknown.call(alone, &site), HasSubstr("424242"));
}

TEST_F(XlaTest, CallsThatAreNotWholeAreRefused) {
  CallFrame empty;
  EXPECT_THAT(empty.call(cpu_handlers().instantiate, &site), HasSubstr("`hash`"));
  CallFrame no_text;
  no_text.string("hash", std::string(64, '0'));
  EXPECT_THAT(no_text.call(cpu_handlers().instantiate, &site), HasSubstr("`ptx`"));
  CallFrame forged;
  forged.string("ptx", kernels::kAdd);
  forged.string("target", "sm_90a");
  forged.string("plan", kernels::add_plan(77).to_text());
  forged.string("hash", std::string(64, '0'));
  EXPECT_THAT(forged.call(cpu_handlers().instantiate, &site), HasSubstr("PTX0805"));
  CallFrame garbled;
  garbled.string("ptx", kernels::kAdd);
  garbled.string("target", "sm_90a");
  garbled.string("plan", "not a plan");
  garbled.string("hash", std::string(64, '1'));
  EXPECT_THAT(garbled.call(cpu_handlers().instantiate, &site), HasSubstr("not a launch plan"));
  EXPECT_EQ(site.state, nullptr);
}

// In a process of its own: a driver is looked for once.
TEST(XlaDeathTest, WithoutADriverTheReasonIsGiven) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto prepare = [] {
    setenv("PYPTX_LIBCUDA", "/nowhere/libcuda.so.1", 1);
    Context site;
    CallFrame frame;
    frame.kernel(kernels::kAdd, kernels::add_plan(100));
    std::string message = frame.call(handlers()[0].instantiate, &site);
    if (message.empty()) message = frame.call(handlers()[0].prepare, &site);
    std::fputs(message.c_str(), stderr);
    std::_Exit(message.empty() ? 1 : 0);
  };
  EXPECT_EXIT(prepare(), testing::ExitedWithCode(0),
              "CUDA is not available: the driver library /nowhere/libcuda.so.1");
}

// How the two kinds of their own look; a message of XLA's carries the same text.
TEST_F(XlaTest, Goldens) {
  golden::Folder goldens("xla");
  const auto expect = [&](CallFrame& call) {
    call.with_frame(&site, [&](XLA_FFI_CallFrame& frame) {
      goldens.expect(read_call_site(Frame(&frame)).error());
    });
  };
  CallFrame empty;
  expect(empty);
  CallFrame forged;
  forged.string("ptx", "not the text that was hashed");
  forged.string("target", "sm_90a");
  forged.string("plan", kernels::add_plan(77).to_text());
  forged.string("hash", std::string(64, '0'));
  expect(forged);
  goldens.expect_complete();
}

}  // namespace
}  // namespace pyptx::interop::xla

#endif
