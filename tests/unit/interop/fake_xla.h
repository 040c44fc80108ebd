// SPDX-License-Identifier: Apache-2.0
//
// A stand-in for XLA: call frames made here, states kept by type as the runtime does, and an abort
// where the runtime would crash (a state asked for where none can be).
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "allocations.h"
#include "fake_driver.h"
#include "kernels.h"
#include "pyptx/interop/image.h"
#include "pyptx/interop/xla.h"
#include "xla/ffi/api/c_api.h"

struct XLA_FFI_Error {
  std::string message;
  XLA_FFI_Error_Code code;
};

namespace pyptx::interop::xla {

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
inline std::vector<TypeRecord>& types() {
  static std::vector<TypeRecord> registered;
  return registered;
}

inline Context& context(XLA_FFI_ExecutionContext* ctx) { return *reinterpret_cast<Context*>(ctx); }

inline XLA_FFI_Api make_api() {
  XLA_FFI_Api api{};
  api.struct_size = XLA_FFI_Api_STRUCT_SIZE;
  api.api_version = {XLA_FFI_Api_Version_STRUCT_SIZE, nullptr, XLA_FFI_API_MAJOR,
                     XLA_FFI_API_MINOR};
  api.XLA_FFI_Error_Create = [](XLA_FFI_Error_Create_Args* args) {
    const pyptx::OwnMemory xlas;
    return new XLA_FFI_Error{args->message, args->errc};
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
    if (site.type != args->type_id->type_id)
      return new XLA_FFI_Error{"a state of another type", {}};
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
    const auto error = error_of(handler, site, [](auto& call) { return call(); });
    return error == nullptr ? "" : error->message;
  }

  /// The error, null for success. `around` makes the call, in circumstances of its own.
  template <typename Around>
  std::unique_ptr<XLA_FFI_Error> error_of(void* handler, Context* site, const Around& around) {
    std::unique_ptr<XLA_FFI_Error> error;
    with_frame(site, [&](XLA_FFI_CallFrame& frame) {
      const auto call = [&] { return reinterpret_cast<XLA_FFI_Handler*>(handler)(&frame); };
      error.reset(around(call));
    });
    return error;
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

}  // namespace pyptx::interop::xla
