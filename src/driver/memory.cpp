// SPDX-License-Identifier: Apache-2.0
//
// Owned memory, streams and events: driver calls with the device's context current (see the
// headers).
#include "pyptx/driver/memory.h"

#include <utility>

#include "context.h"
#include "cuda_api.h"
#include "pyptx/driver/stream.h"

namespace pyptx::driver {
namespace {

/// Runs `call(api)` with a context of `device` current; `name` is the entry point's.
template <typename Call>
diag::Status on_device(int device, const char* name, Call&& call) {
  auto found = driver_with(device);
  if (!found) return found.failure();
  const ContextScope context(**found, device);
  if (!context.ok()) return diag::fail(context.error());
  const cuda::Api& api = (*found)->api;
  const cuda::Code code = std::forward<Call>(call)(api);
  if (code != cuda::kSuccess) return diag::fail(cuda_error(api, name, code));
  return diag::success();
}

/// The same for what cannot be reported: a destructor's call, possibly after CUDA is gone.
template <typename Call>
void release(int device, Call&& call) {
  static_cast<void>(on_device(device, "", std::forward<Call>(call)));
}

cuda::Stream raw(const Stream& stream) { return static_cast<cuda::Stream>(stream.handle()); }
cuda::Event raw(const Event& event) { return static_cast<cuda::Event>(event.handle()); }

}  // namespace

// --- memory --------------------------------------------------------------------------------------

diag::Result<DeviceMemory> DeviceMemory::allocate(int device, std::size_t bytes) {
  cuda::Address address = 0;
  if (bytes != 0) {
    auto status = on_device(device, "cuMemAlloc", [&](const cuda::Api& api) {
      return api.memory_allocate(&address, bytes);
    });
    if (!status) return status.failure();
  }
  return DeviceMemory({cuda::as_pointer(address), Free{device}}, bytes);
}

void DeviceMemory::Free::operator()(void* memory) const {
  release(device, [&](const cuda::Api& api) {
    return api.memory_free(reinterpret_cast<std::uintptr_t>(memory));
  });
}

diag::Status DeviceMemory::copy_from(const void* host, const Stream& stream) const {
  if (bytes_ == 0) return diag::success();
  return on_device(device(), "cuMemcpyHtoDAsync", [&](const cuda::Api& api) {
    return api.copy_to_device(address(), host, bytes_, raw(stream));
  });
}

diag::Status DeviceMemory::copy_to(void* host, const Stream& stream) const {
  if (bytes_ == 0) return diag::success();
  return on_device(device(), "cuMemcpyDtoHAsync", [&](const cuda::Api& api) {
    return api.copy_to_host(host, address(), bytes_, raw(stream));
  });
}

// --- streams -------------------------------------------------------------------------------------

diag::Result<Stream> Stream::create(int device) {
  cuda::Stream stream = nullptr;
  auto status = on_device(device, "cuStreamCreate", [&](const cuda::Api& api) {
    return api.stream_create(&stream, cuda::kStreamNonBlocking);
  });
  if (!status) return status.failure();
  return Stream({stream, Destroy{device}});
}

void Stream::Destroy::operator()(void* stream) const {
  release(device, [&](const cuda::Api& api) {
    return api.stream_destroy(static_cast<cuda::Stream>(stream));
  });
}

diag::Status Stream::synchronize() const {
  return on_device(device(), "cuStreamSynchronize",
                   [&](const cuda::Api& api) { return api.stream_synchronize(raw(*this)); });
}

diag::Status Stream::record(const Event& event) const {
  return on_device(device(), "cuEventRecord",
                   [&](const cuda::Api& api) { return api.event_record(raw(event), raw(*this)); });
}

diag::Status Stream::wait(const Event& event) const {
  return on_device(device(), "cuStreamWaitEvent", [&](const cuda::Api& api) {
    return api.stream_wait_event(raw(*this), raw(event), 0);
  });
}

// --- events --------------------------------------------------------------------------------------

diag::Result<Event> Event::create(int device) {
  cuda::Event event = nullptr;
  auto status = on_device(device, "cuEventCreate",
                          [&](const cuda::Api& api) { return api.event_create(&event, 0); });
  if (!status) return status.failure();
  return Event({event, Destroy{device}});
}

void Event::Destroy::operator()(void* event) const {
  release(device,
          [&](const cuda::Api& api) { return api.event_destroy(static_cast<cuda::Event>(event)); });
}

diag::Status Event::synchronize() const {
  return on_device(device(), "cuEventSynchronize",
                   [&](const cuda::Api& api) { return api.event_synchronize(raw(*this)); });
}

diag::Result<float> Event::milliseconds_since(const Event& earlier) const {
  float milliseconds = 0;
  auto status = on_device(device(), "cuEventElapsedTime", [&](const cuda::Api& api) {
    return api.event_elapsed(&milliseconds, raw(earlier), raw(*this));
  });
  if (!status) return status.failure();
  return milliseconds;
}

}  // namespace pyptx::driver
