// SPDX-License-Identifier: Apache-2.0
//
// The typed-FFI handlers, on XLA's C API (xla/ffi/api/c_api.h). The C++ wrapper of that API would
// decode the same few fields through static registries; these functions read the call frame.
//
// A call site's image is its state: made when XLA instantiates the call, owned by the executable.
// A handler registered without instantiate has no state to read (XLA keeps none for it, not even
// an empty one), so it is a separate function and asks the registry each time.
#include "pyptx/interop/xla.h"

#if __has_include("xla/ffi/api/c_api.h")

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "pyptx/diag/exception.h"
#include "pyptx/diag/render.h"
#include "pyptx/interop/registry.h"
#include "pyptx/interop/run.h"
#include "xla_call_site.h"
#include "xla_frame.h"

namespace pyptx::interop::xla {
namespace {

/// The type of CallState in one XLA instance; each plugin has its own registry of types.
struct StateType {
  XLA_FFI_TypeId id = XLA_FFI_UNKNOWN_TYPE_ID;
  std::mutex mutex;
};
StateType cuda_state;
StateType cpu_state;

const XLA_FFI_TypeInfo kStateInfo = {XLA_FFI_TypeInfo_STRUCT_SIZE, nullptr,
                                     [](void* state) { delete static_cast<CallState*>(state); }};

XLA_FFI_Error* register_state(const XLA_FFI_Api* api, StateType& type) {
  const std::lock_guard lock(type.mutex);
  if (type.id.type_id != XLA_FFI_UNKNOWN_TYPE_ID.type_id) return nullptr;
  static constexpr std::string_view kName = "pyptx.kernel_call_site";
  XLA_FFI_Type_Register_Args args{};
  args.struct_size = XLA_FFI_Type_Register_Args_STRUCT_SIZE;
  args.name = {kName.data(), kName.size()};
  args.type_id = &type.id;
  args.type_info = &kStateInfo;
  return api->XLA_FFI_Type_Register(&args);
}

/// An XLA older than the headers compiled here has smaller structures and fewer functions.
XLA_FFI_Error* check_version(const Frame& frame, const XLA_FFI_Api_Version& running) {
  const auto version = [](int major, int minor) {
    return std::to_string(major) + "." + std::to_string(minor);
  };
  if (running.major_version == XLA_FFI_API_MAJOR && running.minor_version >= XLA_FFI_API_MINOR) {
    return nullptr;
  }
  return frame.error("pyptx was built for XLA's FFI " +
                         version(XLA_FFI_API_MAJOR, XLA_FFI_API_MINOR) + ", this jaxlib has " +
                         version(running.major_version, running.minor_version) +
                         "; upgrade jaxlib, or build pyptx where this jaxlib is installed",
                     XLA_FFI_Error_Code_FAILED_PRECONDITION);
}

/// Answers a query for the handler's properties. `state`: of a handler that makes call sites.
XLA_FFI_Error* describe(const Frame& frame, const XLA_FFI_Api* api, XLA_FFI_Metadata& metadata,
                        StateType* state) {
  if (XLA_FFI_Error* error = check_version(frame, api->api_version)) return error;
  metadata.api_version = {XLA_FFI_Api_Version_STRUCT_SIZE, nullptr, XLA_FFI_API_MAJOR,
                          XLA_FFI_API_MINOR};
  metadata.traits = XLA_FFI_HANDLER_TRAITS_COMMAND_BUFFER_COMPATIBLE;
  metadata.state_type_id = XLA_FFI_UNKNOWN_TYPE_ID;
  if (state == nullptr) return nullptr;
  if (XLA_FFI_Error* error = register_state(api, *state)) return error;
  metadata.state_type_id = state->id;
  return nullptr;
}

XLA_FFI_Error_Code code_of(diag::Kind kind) {
  switch (kind) {
    case diag::Kind::OutOfMemory:
      return XLA_FFI_Error_Code_RESOURCE_EXHAUSTED;
    case diag::Kind::UnexpectedException:
      return XLA_FFI_Error_Code_INTERNAL;
    default:
      return XLA_FFI_Error_Code_INVALID_ARGUMENT;
  }
}

XLA_FFI_Error* failure(const Frame& frame, const diag::Diagnostic& diagnostic,
                       const KernelImage* image = nullptr) {
  const auto table = image == nullptr ? nullptr : image->locations();
  return frame.error(diag::render(diagnostic, table.get()), code_of(diagnostic.kind));
}

XLA_FFI_Error* instantiate(const Frame& frame, StateType& type) {
  auto site = read_call_site(frame);
  if (!site) return failure(frame, site.error());
  auto state = std::make_unique<CallState>(std::move(*site));
  if (XLA_FFI_Error* error = frame.set_state(type.id, state.get())) return error;
  static_cast<void>(state.release());  // XLA's now
  return nullptr;
}

/// The call site of a frame: its state, or what its attributes say.
class Site {
 public:
  Site(const Frame& frame, StateType* type) {
    if (type != nullptr) {
      void* state = nullptr;
      error_ = frame.state(type->id, &state);
      state_ = static_cast<CallState*>(state);
      return;
    }
    auto read = read_call_site(frame);
    if (!read) {
      error_ = failure(frame, read.error());
      return;
    }
    // Nobody else holds it between two calls.
    if (read->image != nullptr) Registry::instance().handle_of(read->image);
    own_.emplace(std::move(*read));
    state_ = &*own_;
  }
  XLA_FFI_Error* error() const { return error_; }
  CallState& state() const { return *state_; }
  const CallSite* operator->() const { return &state_->site; }

  /// The image that a frame launches. Null for a handle, for a size that launches nothing, and
  /// where a frame does not show sizes yet.
  diag::Result<std::shared_ptr<KernelImage>> image(Frame frame) const {
    const CallSite& site = state_->site;
    if (site.open == nullptr) return site.image;
    frame.skip_arguments(site.unread);
    if (frame.buffer_count() == 0) return std::shared_ptr<KernelImage>();
    return image_for(*site.open, frame);
  }

 private:
  std::optional<CallState> own_;
  CallState* state_ = nullptr;
  XLA_FFI_Error* error_ = nullptr;
};

XLA_FFI_Error* prepare_cuda(const Frame& frame) {
  const Site site(frame, &cuda_state);
  if (site.error() != nullptr) return site.error();
  std::int32_t device = 0;
  if (XLA_FFI_Error* error = frame.device_ordinal(&device)) return error;
  if (site.state().ready(device) != nullptr) return nullptr;
  const auto image = site.image(frame);
  if (!image) return failure(frame, image.error());
  if (*image == nullptr) return nullptr;
  auto launcher = (*image)->launcher(device);
  if (!launcher) return failure(frame, launcher.error(), image->get());
  if (const auto prepared = (*launcher)->prepare(device); !prepared) {
    return failure(frame, prepared.error());
  }
  site.state().set_ready(device, *launcher);
  return nullptr;
}

XLA_FFI_Error* execute_cuda(Frame frame, StateType* type) {
  const Site site(frame, type);
  if (site.error() != nullptr) return site.error();
  void* stream = nullptr;
  if (XLA_FFI_Error* error = frame.stream(&stream)) return error;
  std::int32_t device = 0;
  if (XLA_FFI_Error* error = frame.device_ordinal(&device)) return error;

  const Frame whole = frame;
  frame.skip_arguments(site->unread);
  std::array<std::uint64_t, kMaxTensors> pointers;
  const std::size_t count = frame.buffer_count();
  if (count > kMaxTensors) return frame.too_many_buffers();
  for (std::size_t i = 0; i < count; ++i) {
    pointers[i] = reinterpret_cast<std::uintptr_t>(frame.buffer(i).data);
  }
  const std::span<const std::uint64_t> tensors(pointers.data(), count);
  if (const driver::Launcher* ready = site.state().ready(device)) {
    const auto launched = ready->launch(stream, device, {.pointers = tensors});
    return launched ? nullptr : failure(frame, launched.error(), site->image.get());
  }
  if (site->has_handle()) {
    const auto launched = Registry::instance().launch(site->handle, device, stream, tensors);
    return launched ? nullptr : failure(frame, launched.error());
  }
  const auto image = site.image(whole);
  if (!image) return failure(frame, image.error());
  if (*image == nullptr) return nullptr;
  const auto launched = launch(**image, device, stream, tensors);
  return launched ? nullptr : failure(frame, launched.error(), image->get());
}

XLA_FFI_Error* execute_cpu(Frame frame, StateType* type) {
  const Site site(frame, type);
  if (site.error() != nullptr) return site.error();
  auto found = site->has_handle() ? Registry::instance().image(site->handle) : site.image(frame);
  if (!found) return failure(frame, found.error());
  const std::shared_ptr<KernelImage> image = std::move(*found);
  if (image == nullptr) return nullptr;
  frame.skip_arguments(site->unread);
  std::array<HostTensor, kMaxTensors> tensors;
  const std::size_t count = frame.buffer_count();
  if (count > kMaxTensors) return frame.too_many_buffers();
  // A result that has an argument's memory holds what the argument does.
  const auto is_input = [&](std::size_t result) {
    if (frame.is_kept(result, site->kept)) return true;
    for (std::size_t i = 0; i < result && !frame.is_result(i); ++i) {
      if (frame.buffer(i).data == frame.buffer(result).data) return true;
    }
    return false;
  };
  for (std::size_t i = 0; i < count; ++i) {
    const XLA_FFI_Buffer& buffer = frame.buffer(i);
    // An argument may be written only where XLA gave a result the same memory.
    tensors[i] = {reinterpret_cast<std::uintptr_t>(buffer.data), byte_count(buffer),
                  frame.is_result(i) || frame.is_aliased(i), !frame.is_result(i) || is_input(i),
                  element_bytes(buffer.dtype)};
  }
  const auto report = emulate(*image, {tensors.data(), count});
  return report ? nullptr : failure(frame, report.error(), image.get());
}

/// Runs `body`, or answers a query for the handler's properties with `state`.
template <typename Body>
XLA_FFI_Error* serve(XLA_FFI_CallFrame* call_frame, StateType* state, Body&& body) {
  const Frame frame(call_frame);
  // The caller is C: it could let no exception pass.
  try {
    if (XLA_FFI_Metadata* metadata = frame.metadata()) {
      return describe(frame, call_frame->api, *metadata, state);
    }
    return std::forward<Body>(body)(frame);
  } catch (...) {
    const diag::ExceptionWords words = diag::words_of_current_exception();
    return frame.error(words.text, code_of(words.kind));
  }
}

}  // namespace
}  // namespace pyptx::interop::xla

namespace ours = pyptx::interop::xla;

extern "C" {

#define PYPTX_HANDLER __attribute__((visibility("default"))) XLA_FFI_Error*

/// Execute on CUDA, registered alone.
PYPTX_HANDLER PyptxLaunch(XLA_FFI_CallFrame* frame) {
  return ours::serve(frame, nullptr,
                     [](const ours::Frame& f) { return ours::execute_cuda(f, nullptr); });
}
PYPTX_HANDLER PyptxLaunchInstantiate(XLA_FFI_CallFrame* frame) {
  return ours::serve(frame, &ours::cuda_state,
                     [](const ours::Frame& f) { return ours::instantiate(f, ours::cuda_state); });
}
PYPTX_HANDLER PyptxLaunchPrepare(XLA_FFI_CallFrame* frame) {
  return ours::serve(frame, nullptr, ours::prepare_cuda);
}
/// Execute on CUDA, registered with the two above.
PYPTX_HANDLER PyptxLaunchExecute(XLA_FFI_CallFrame* frame) {
  return ours::serve(frame, nullptr,
                     [](const ours::Frame& f) { return ours::execute_cuda(f, &ours::cuda_state); });
}
PYPTX_HANDLER PyptxEmulateInstantiate(XLA_FFI_CallFrame* frame) {
  return ours::serve(frame, &ours::cpu_state,
                     [](const ours::Frame& f) { return ours::instantiate(f, ours::cpu_state); });
}
PYPTX_HANDLER PyptxEmulateExecute(XLA_FFI_CallFrame* frame) {
  return ours::serve(frame, nullptr,
                     [](const ours::Frame& f) { return ours::execute_cpu(f, &ours::cpu_state); });
}

#undef PYPTX_HANDLER
}

namespace pyptx::interop::xla {

std::span<const Handlers> handlers() {
  static const std::array kHandlers = {
      Handlers{"CUDA", reinterpret_cast<void*>(PyptxLaunchInstantiate),
               reinterpret_cast<void*>(PyptxLaunchPrepare),
               reinterpret_cast<void*>(PyptxLaunchExecute)},
      Handlers{"cpu", reinterpret_cast<void*>(PyptxEmulateInstantiate), nullptr,
               reinterpret_cast<void*>(PyptxEmulateExecute)},
  };
  return kHandlers;
}

std::array<int, 2> version() { return {XLA_FFI_API_MAJOR, XLA_FFI_API_MINOR}; }

std::string_view unavailable_reason() { return ""; }

}  // namespace pyptx::interop::xla

#else

namespace pyptx::interop::xla {

std::span<const Handlers> handlers() { return {}; }

std::array<int, 2> version() { return {}; }

std::string_view unavailable_reason() {
  return "pyptx was built without XLA's headers: build it where jaxlib is installed, or set "
         "PYPTX_XLA_INCLUDE to the folder that holds xla/ffi/api/c_api.h";
}

}  // namespace pyptx::interop::xla

#endif
