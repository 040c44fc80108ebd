// SPDX-License-Identifier: Apache-2.0
//
// The XLA handlers, driven by call frames made here: a stand-in for XLA that keeps states by type,
// as the runtime does, and aborts where it would crash (a state asked for where none can be).
#include "pyptx/interop/xla.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#if __has_include("xla/ffi/api/c_api.h")

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "fake_driver.h"
#include "golden.h"
#include "kernels.h"
#include "pyptx/interop/image.h"
#include "pyptx/interop/registry.h"
#include "xla/ffi/api/c_api.h"
#include "xla_call_site.h"

struct XLA_FFI_Error {
  std::string message;
};

extern "C" XLA_FFI_Error* PyptxLaunch(XLA_FFI_CallFrame* frame);

namespace {

/// What XLA keeps for one call site.
struct Context {
  bool has_state = true;
  std::int64_t type = 0;
  void* state = nullptr;
  void* stream = reinterpret_cast<void*>(0x5550);
  std::int32_t device = 1;
};

struct TypeRecord {
  std::string name;
  void (*deleter)(void*);
};
std::vector<TypeRecord>& types() {
  static std::vector<TypeRecord> registered;
  return registered;
}

Context& context(XLA_FFI_ExecutionContext* ctx) { return *reinterpret_cast<Context*>(ctx); }

XLA_FFI_Api make_api() {
  XLA_FFI_Api api{};
  api.struct_size = XLA_FFI_Api_STRUCT_SIZE;
  api.api_version = {XLA_FFI_Api_Version_STRUCT_SIZE, nullptr, XLA_FFI_API_MAJOR,
                     XLA_FFI_API_MINOR};
  api.XLA_FFI_Error_Create = [](XLA_FFI_Error_Create_Args* args) {
    return new XLA_FFI_Error{args->message};
  };
  api.XLA_FFI_Type_Register = [](XLA_FFI_Type_Register_Args* args) -> XLA_FFI_Error* {
    types().push_back({std::string(args->name.ptr, args->name.len), args->type_info->deleter});
    args->type_id->type_id = static_cast<std::int64_t>(types().size());
    return nullptr;
  };
  api.XLA_FFI_State_Set = [](XLA_FFI_State_Set_Args* args) -> XLA_FFI_Error* {
    context(args->ctx).type = args->type_id->type_id;
    context(args->ctx).state = args->state;
    return nullptr;
  };
  api.XLA_FFI_State_Get = [](XLA_FFI_State_Get_Args* args) -> XLA_FFI_Error* {
    const Context& site = context(args->ctx);
    if (!site.has_state) std::abort();
    if (site.type != args->type_id->type_id) return new XLA_FFI_Error{"a state of another type"};
    args->state = site.state;
    return nullptr;
  };
  api.XLA_FFI_Stream_Get = [](XLA_FFI_Stream_Get_Args* args) -> XLA_FFI_Error* {
    args->stream = context(args->ctx).stream;
    return nullptr;
  };
  api.XLA_FFI_DeviceOrdinal_Get = [](XLA_FFI_DeviceOrdinal_Get_Args* args) -> XLA_FFI_Error* {
    args->device_ordinal = context(args->ctx).device;
    return nullptr;
  };
  return api;
}

/// A call with its attributes and buffers.
class CallFrame {
 public:
  CallFrame() = default;
  CallFrame(const CallFrame&) = delete;
  CallFrame& operator=(const CallFrame&) = delete;

  void string(const std::string& name, const std::string& value) {
    strings_.push_back(value);
    spans_.push_back({strings_.back().data(), strings_.back().size()});
    attribute(name, XLA_FFI_AttrType_STRING, &spans_.back());
  }
  void integer(const std::string& name, std::int64_t value) {
    integers_.push_back(value);
    scalars_.push_back({XLA_FFI_DataType_S64, &integers_.back()});
    attribute(name, XLA_FFI_AttrType_SCALAR, &scalars_.back());
  }
  void kernel(const std::string& ptx, const pyptx::driver::LaunchPlan& plan) {
    string("ptx", ptx);
    string("target", "sm_90a");
    string("plan", plan.to_text());
    string("hash", pyptx::interop::KernelImage::hash_of(ptx, "sm_90a", plan.to_text()));
  }
  void argument(void* data, std::int64_t extent) { buffers_.push_back(buffer(data, extent)); }
  void result(void* data, std::int64_t extent) { results_.push_back(buffer(data, extent)); }

  /// The error's message, "" for success.
  std::string call(void* handler, Context* site) {
    std::string message;
    with_frame(site, [&](XLA_FFI_CallFrame& frame) {
      const std::unique_ptr<XLA_FFI_Error> error(
          reinterpret_cast<XLA_FFI_Handler*>(handler)(&frame));
      if (error != nullptr) message = error->message;
    });
    return message;
  }

  void with_frame(Context* site, const std::function<void(XLA_FFI_CallFrame&)>& use) {
    std::vector<void*> args, rets;
    for (auto& b : buffers_) args.push_back(&b);
    for (auto& b : results_) rets.push_back(&b);
    std::vector<XLA_FFI_ArgType> arg_types(args.size(), XLA_FFI_ArgType_BUFFER);
    std::vector<XLA_FFI_RetType> ret_types(rets.size(), XLA_FFI_RetType_BUFFER);
    XLA_FFI_Api api = make_api();
    api.api_version.minor_version += newer_minor;
    XLA_FFI_CallFrame frame{};
    frame.struct_size = XLA_FFI_CallFrame_STRUCT_SIZE;
    frame.api = &api;
    frame.ctx = reinterpret_cast<XLA_FFI_ExecutionContext*>(site);
    frame.args = {XLA_FFI_Args_STRUCT_SIZE, nullptr, static_cast<std::int64_t>(args.size()),
                  arg_types.data(), args.data()};
    frame.rets = {XLA_FFI_Rets_STRUCT_SIZE, nullptr, static_cast<std::int64_t>(rets.size()),
                  ret_types.data(), rets.data()};
    frame.attrs = {
        XLA_FFI_Attrs_STRUCT_SIZE, nullptr,       static_cast<std::int64_t>(attributes_.size()),
        attribute_types_.data(),   names_.data(), attributes_.data()};
    frame.extension_start = extension;
    use(frame);
  }

  XLA_FFI_Extension_Base* extension = nullptr;
  int newer_minor = 0;  // of the running XLA, than the one compiled for

 private:
  void attribute(const std::string& name, XLA_FFI_AttrType type, void* value) {
    strings_.push_back(name);
    spans_.push_back({strings_.back().data(), strings_.back().size()});
    names_.push_back(&spans_.back());
    attribute_types_.push_back(type);
    attributes_.push_back(value);
  }
  XLA_FFI_Buffer buffer(void* data, std::int64_t extent) {
    extents_.push_back(extent);
    return {XLA_FFI_Buffer_STRUCT_SIZE, nullptr, XLA_FFI_DataType_F32, data, 1, &extents_.back()};
  }

  // Deques: pointers into them are kept.
  std::deque<std::string> strings_;
  std::deque<XLA_FFI_ByteSpan> spans_;
  std::deque<std::int64_t> integers_, extents_;
  std::deque<XLA_FFI_Scalar> scalars_;
  std::vector<XLA_FFI_ByteSpan*> names_;
  std::vector<XLA_FFI_AttrType> attribute_types_;
  std::vector<void*> attributes_;
  std::deque<XLA_FFI_Buffer> buffers_, results_;
};

}  // namespace

namespace pyptx::interop::xla {
namespace {

using testing::HasSubstr;

class XlaTest : public driver::FakeDriverTest {
 protected:
  void SetUp() override {
    setenv("PYPTX_CACHE", "0", 1);
    FakeDriverTest::SetUp();
    // As the registration does: XLA asks for the properties, and the type gets its id.
    for (const Handlers& platform : handlers()) describe(platform.instantiate);
  }
  void TearDown() override {
    if (site.state != nullptr)
      types().at(static_cast<std::size_t>(site.type - 1)).deleter(site.state);
    FakeDriverTest::TearDown();
  }

  static XLA_FFI_Metadata describe(void* handler, int newer_minor = 0,
                                   const testing::Matcher<std::string>& answer = "") {
    XLA_FFI_Metadata metadata{};
    metadata.struct_size = XLA_FFI_Metadata_STRUCT_SIZE;
    XLA_FFI_Metadata_Extension extension{
        {XLA_FFI_Metadata_Extension_STRUCT_SIZE, XLA_FFI_Extension_Metadata, nullptr}, &metadata};
    CallFrame frame;
    frame.extension = &extension.extension_base;
    frame.newer_minor = newer_minor;
    EXPECT_THAT(frame.call(handler, nullptr), answer);
    return metadata;
  }
  static const Handlers& cuda_handlers() { return handlers()[0]; }
  static const Handlers& cpu_handlers() { return handlers()[1]; }

  void buffers(CallFrame& frame) {
    frame.argument(a.data(), 100);
    frame.argument(b.data(), 100);
    frame.result(c.data(), 100);
  }

  Context site;
  std::vector<float> a = std::vector<float>(100, 1.5F);
  std::vector<float> b = std::vector<float>(100, 2.0F);
  std::vector<float> c = std::vector<float>(100, 0.0F);
};

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
