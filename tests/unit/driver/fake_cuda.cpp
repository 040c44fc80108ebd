// SPDX-License-Identifier: Apache-2.0
//
// A CUDA driver without a GPU: the entry points of cuda_abi.h over host memory. It keeps the rules
// that callers must not break (a context where one is needed, no forbidden call in a capture) and
// records what it is asked. It runs no kernel.
#include "fake_entry.h"

#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <set>

namespace pyptx::driver::cuda {
struct LibraryTag {
  std::string image;
};
struct KernelTag {
  std::string name;
};
struct FunctionTag {
  Context context;
};
struct StreamTag {
  Context context;
  unsigned flags;
};
struct EventTag {
  int device;
  float time;
};
}  // namespace pyptx::driver::cuda

namespace pyptx::fake {

using driver::cuda::Code;

thread_local std::vector<driver::cuda::Context> context_stack;
thread_local int capture_mode = 0;

Cuda& state() {
  static auto* made = new Cuda;
  return *made;
}

Code enter(const char* name) {
  Cuda& fake = state();
  if (!fake.recording) return driver::cuda::kSuccess;
  const std::scoped_lock lock(fake.mutex);
  fake.calls.emplace_back(name);
  const auto found = fake.failures.find(name);
  if (found != fake.failures.end() && found->second == kThrows) throw std::bad_alloc();
  return found == fake.failures.end() ? driver::cuda::kSuccess : found->second;
}

Code enter_unsafe(const char* name) {
  const Code code = enter(name);
  if (code != driver::cuda::kSuccess) return code;
  const bool forbidden = state().capturing && capture_mode != driver::cuda::kCaptureModeRelaxed;
  return forbidden ? driver::cuda::kCaptureUnsupported : driver::cuda::kSuccess;
}

Code need_context() {
  return context_stack.empty() ? driver::cuda::kInvalidContext : driver::cuda::kSuccess;
}

}  // namespace pyptx::fake

namespace {

using namespace pyptx::driver::cuda;
using namespace pyptx::fake;

Context primary(int device) {
  static ContextTag contexts[pyptx::fake::kDevices] = {{0}, {1}, {2}};
  return &contexts[device];
}

/// A context that an application made by itself.
Context own(int device) {
  static ContextTag contexts[pyptx::fake::kDevices] = {{0}, {1}, {2}};
  return &contexts[device];
}

/// What is made in an application's own context is gone with it.
void note_own_object() {
  for (int i = 0; i < pyptx::fake::kDevices; ++i) {
    if (context_stack.back() == own(i)) ++state().own_objects;
  }
}

/// Every stream given out and not destroyed.
std::set<Stream>& streams() {
  static auto* made = new std::set<Stream>;
  return *made;
}

Stream make_stream(Context context, unsigned flags) {
  const std::scoped_lock lock(state().mutex);
  return *streams().insert(new StreamTag{context, flags}).first;
}

/// Names, and what tests make up, are streams of the current context.
Context context_of(Stream stream) {
  const std::scoped_lock lock(state().mutex);
  return streams().contains(stream) ? stream->context : context_stack.back();
}

/// Every function given out.
std::vector<std::unique_ptr<FunctionTag>>& functions() {
  static auto* made = new std::vector<std::unique_ptr<FunctionTag>>;
  return *made;
}

/// Whether a function is launched on a stream of a context that it is not of. A kernel is of every
/// context, and so is what tests make up.
bool is_of_another_context(Function function, Stream stream) {
  const Context meant = context_of(stream);
  const std::scoped_lock lock(state().mutex);
  for (const auto& known : functions()) {
    if (known.get() == function) return known->context != meant;
  }
  return false;
}

}  // namespace

extern "C" {

Cuda* fake_cuda() { return &state(); }

Code cuInit(unsigned) {
  ENTER("cuInit");
  return kSuccess;
}
Code cuDriverGetVersion(int* version) {
  ENTER("cuDriverGetVersion");
  *version = state().version;
  return kSuccess;
}
Code cuGetErrorName(Code code, const char** text) {
  *text = code == kOutOfMemory ? "CUDA_ERROR_OUT_OF_MEMORY" : "CUDA_ERROR_FAKE";
  return code == 999 ? kInvalidValue : kSuccess;
}
Code cuGetErrorString(Code code, const char** text) {
  *text = code == kOutOfMemory ? "out of memory" : "a fake error";
  return code == 999 ? kInvalidValue : kSuccess;
}
Code cuDeviceGet(Device* device, int ordinal) {
  ENTER("cuDeviceGet");
  *device = ordinal;
  return kSuccess;
}
Code cuDeviceGetCount(int* count) {
  ENTER("cuDeviceGetCount");
  *count = state().device_count;
  return kSuccess;
}
Code cuDeviceGetName(char* name, int size, Device) {
  ENTER("cuDeviceGetName");
  std::strncpy(name, "Fake H200", static_cast<std::size_t>(size));
  return kSuccess;
}
Code cuDeviceGetAttribute(int* value, int attribute, Device device) {
  ENTER("cuDeviceGetAttribute");
  switch (attribute) {
    case kCapabilityMajor:
      *value = device == 2 ? 8 : state().major;  // device 2 is an older one, without clusters
      return kSuccess;
    case kCapabilityMinor:
      *value = state().minor;
      return kSuccess;
    case kClusterLaunch:
      *value = device == 2 ? 0 : 1;
      return kSuccess;
    case kMaxSharedPerBlock:
      *value = 49152;
      return kSuccess;
    case kMaxSharedPerBlockOptin:
      *value = 232448;
      return kSuccess;
    case kMultiprocessorCount:
      *value = 132;
      return kSuccess;
    case kL2CacheSize:
      *value = 50 << 20;
      return kSuccess;
    default:
      *value = 1024;
      return kSuccess;
  }
}
Code cuDevicePrimaryCtxRetain(Context* context, Device device) {
  ENTER("cuDevicePrimaryCtxRetain");
  *context = primary(device);
  return kSuccess;
}
Code cuDevicePrimaryCtxGetState(Device, unsigned* flags, int* active) {
  ENTER("cuDevicePrimaryCtxGetState");
  *flags = 0;
  *active = state().primary_active ? 1 : 0;
  return kSuccess;
}
Code cuCtxGetCurrent(Context* context) {
  ENTER("cuCtxGetCurrent");
  *context = context_stack.empty() ? nullptr : context_stack.back();
  return kSuccess;
}
Code cuCtxGetDevice(Device* device) {
  ENTER("cuCtxGetDevice");
  NEED_CONTEXT();
  *device = context_stack.back()->device;
  return kSuccess;
}
Code cuCtxPushCurrent_v2(Context context) {
  ENTER("cuCtxPushCurrent");
  context_stack.push_back(context);
  return kSuccess;
}
Code cuCtxPopCurrent_v2(Context* context) {
  ENTER("cuCtxPopCurrent");
  NEED_CONTEXT();
  *context = context_stack.back();
  context_stack.pop_back();
  return kSuccess;
}
Code cuLibraryLoadData(Library* library, const void* image, int*, void**, unsigned, int*, void**,
                       unsigned) {
  ENTER_UNSAFE("cuLibraryLoadData");
  *library = new LibraryTag{static_cast<const char*>(image)};
  return kSuccess;
}
Code cuLibraryGetKernel(KernelHandle* kernel, Library, const char* name) {
  ENTER("cuLibraryGetKernel");
  const std::scoped_lock lock(state().mutex);
  for (const std::string& entry : state().entries) {
    if (entry != name) continue;
    *kernel = new KernelTag{entry};
    return kSuccess;
  }
  return kNotFound;
}
Code cuKernelGetFunction(Function* function, KernelHandle) {
  ENTER_UNSAFE("cuKernelGetFunction");
  NEED_CONTEXT();
  const std::scoped_lock lock(state().mutex);
  *function = functions().emplace_back(new FunctionTag{context_stack.back()}).get();
  return kSuccess;
}
Code cuKernelGetAttribute(int* value, int attribute, KernelHandle, Device) {
  ENTER("cuKernelGetAttribute");
  Cuda& fake = state();
  *value = 0;
  if (attribute == kSharedSizeBytes) *value = fake.static_shared;
  if (attribute == kFunctionMaxThreads) *value = fake.max_threads;
  if (attribute == kNumRegs) *value = 64;
  if (attribute == kClusterSizeMustBeSet) *value = fake.cluster_must_be_set;
  return kSuccess;
}
Code cuKernelSetAttribute(int attribute, int value, KernelHandle, Device device) {
  const std::string name = "cuKernelSetAttribute " + std::to_string(attribute) + "=" +
                           std::to_string(value) + " on " + std::to_string(device);
  ENTER_UNSAFE(name.c_str());
  if (attribute == kMaxDynamicSharedSizeBytes && value + state().static_shared > 232448) {
    return kInvalidValue;
  }
  return kSuccess;
}
Code cuKernelGetParamInfo(KernelHandle, std::size_t index, std::size_t* offset, std::size_t* size) {
  ENTER("cuKernelGetParamInfo");
  Cuda& fake = state();
  if (!fake.knows_parameters) return 801;  // not supported
  if (index >= fake.parameters.size()) return kInvalidValue;
  *offset = fake.parameters[index].first;
  *size = fake.parameters[index].second;
  return kSuccess;
}
Code cuLaunchKernelEx(const LaunchConfig* config, Function function, void** parameters,
                      void** extra) {
  ENTER("cuLaunchKernelEx");
  Cuda& fake = state();
  if (context_stack.empty()) return kInvalidContext;
  if (is_of_another_context(function, config->stream)) return kInvalidHandle;
  ++fake.launch_count;
  if (!fake.recording) return kSuccess;
  pyptx::fake::Launch launch;
  launch.grid[0] = config->grid_x;
  launch.grid[1] = config->grid_y;
  launch.grid[2] = config->grid_z;
  launch.block[0] = config->block_x;
  launch.block[1] = config->block_y;
  launch.block[2] = config->block_z;
  launch.shared = config->shared_bytes;
  launch.stream = config->stream;
  launch.function = function;
  launch.context_device = context_stack.back()->device;
  for (unsigned i = 0; i < config->attribute_count; ++i) {
    const auto& value = config->attributes[i].value.cluster;
    launch.attributes.push_back({config->attributes[i].id, {value.x, value.y, value.z}});
  }
  // As the real driver: each parameter is copied to its place in the kernel's own layout.
  for (std::size_t i = 0; parameters != nullptr && i < fake.parameters.size(); ++i) {
    const auto [offset, size] = fake.parameters[i];
    launch.parameters.resize(std::max(launch.parameters.size(), offset + size));
    std::memcpy(launch.parameters.data() + offset, parameters[i], size);
  }
  if (extra != nullptr) {
    if (extra[0] != kParamBufferPointer || extra[2] != kParamBufferSize || extra[4] != kParamEnd) {
      ++fake.violations;
      return kInvalidValue;
    }
    if (reinterpret_cast<std::uintptr_t>(extra[1]) % 64 != 0) ++fake.violations;
    const auto* bytes = static_cast<const unsigned char*>(extra[1]);
    launch.parameters.assign(bytes, bytes + *static_cast<std::size_t*>(extra[3]));
  }
  const std::scoped_lock lock(fake.mutex);
  fake.launches.push_back(std::move(launch));
  return kSuccess;
}
Code cuMemAlloc_v2(Address* address, std::size_t size) {
  ENTER_UNSAFE("cuMemAlloc");
  NEED_CONTEXT();
  note_own_object();
  const std::size_t pages = (size + 4095) / 4096 * 4096;  // aligned_alloc takes no other sizes
  *address = reinterpret_cast<Address>(std::aligned_alloc(4096, pages));
  return kSuccess;
}
Code cuMemcpyHtoDAsync_v2(Address to, const void* from, std::size_t size, Stream stream) {
  ENTER("cuMemcpyHtoDAsync");
  NEED_CONTEXT();
  if (is_named(stream) || stream->flags != kStreamNonBlocking) {
    // The default stream would make a capturing stream wait.
    return state().capturing ? kCaptureImplicit : kSuccess;
  }
  if (stream->context != context_stack.back()) return kInvalidHandle;
  std::memcpy(reinterpret_cast<void*>(to), from, size);
  return kSuccess;
}
Code cuMemFree_v2(Address address) {
  ENTER_UNSAFE("cuMemFree");
  NEED_CONTEXT();
  std::free(reinterpret_cast<void*>(address));
  return kSuccess;
}
// Where a launch's tensors are is nobody's memory: fills are noted alone.
Code cuMemsetD8Async(Address to, unsigned char value, std::size_t count, Stream) {
  ENTER("cuMemsetD8Async");
  state().fills.push_back({to, 1, 1, value, count});
  return kSuccess;
}
Code cuMemsetD16Async(Address to, unsigned short value, std::size_t count, Stream) {
  ENTER("cuMemsetD16Async");
  state().fills.push_back({to, 2, 2, value, count});
  return kSuccess;
}
Code cuMemsetD32Async(Address to, unsigned value, std::size_t count, Stream) {
  ENTER("cuMemsetD32Async");
  state().fills.push_back({to, 4, 4, value, count});
  return kSuccess;
}
Code cuMemsetD2D32Async(Address to, std::size_t pitch, unsigned value, std::size_t width,
                        std::size_t height, Stream) {
  ENTER("cuMemsetD2D32Async");
  if (width != 1) return kInvalidValue;
  state().fills.push_back({to, 4, pitch, value, height});
  return kSuccess;
}
Code cuMemcpyDtoHAsync_v2(void* to, Address from, std::size_t size, Stream stream) {
  ENTER("cuMemcpyDtoHAsync");
  NEED_CONTEXT();
  if (is_named(stream) || stream->context != context_stack.back()) return kInvalidHandle;
  std::memcpy(to, reinterpret_cast<void*>(from), size);
  return kSuccess;
}
Code cuStreamCreate(Stream* stream, unsigned flags) {
  ENTER_UNSAFE("cuStreamCreate");
  NEED_CONTEXT();
  note_own_object();
  *stream = make_stream(context_stack.back(), flags);
  return kSuccess;
}
Code cuStreamSynchronize(Stream) {
  ENTER_UNSAFE("cuStreamSynchronize");
  return kSuccess;
}
Code cuStreamDestroy_v2(Stream stream) {
  ENTER("cuStreamDestroy");
  const std::scoped_lock lock(state().mutex);
  streams().erase(stream);
  delete stream;
  return kSuccess;
}
Code cuStreamGetCtx(Stream stream, Context* context) {
  ENTER("cuStreamGetCtx");
  NEED_CONTEXT();
  *context = context_of(stream);
  return kSuccess;
}
Code cuStreamWaitEvent(Stream, Event, unsigned) {
  ENTER("cuStreamWaitEvent");
  return kSuccess;
}
Code cuEventCreate(Event* event, unsigned) {
  ENTER("cuEventCreate");
  NEED_CONTEXT();
  *event = new EventTag{context_stack.back()->device, 0};
  return kSuccess;
}
Code cuEventRecord(Event event, Stream) {
  ENTER("cuEventRecord");
  // Time passes by one from mark to mark.
  static std::atomic<int> clock = 0;
  event->time = static_cast<float>(++clock);
  return kSuccess;
}
Code cuEventSynchronize(Event) {
  ENTER("cuEventSynchronize");
  return kSuccess;
}
Code cuEventElapsedTime(float* milliseconds, Event start, Event end) {
  ENTER("cuEventElapsedTime");
  if (start->time == 0 || end->time == 0) return kInvalidHandle;
  *milliseconds = end->time - start->time;
  return kSuccess;
}
Code cuEventDestroy_v2(Event event) {
  ENTER("cuEventDestroy");
  delete event;
  return kSuccess;
}
Code cuThreadExchangeStreamCaptureMode(int* mode) {
  ENTER("cuThreadExchangeStreamCaptureMode");
  std::swap(*mode, capture_mode);
  return kSuccess;
}
/// For tests: makes a context of `device` current on this thread, or none.
void fake_cuda_set_context(int device) {
  context_stack.clear();
  if (device >= 0) context_stack.push_back(primary(device));
}
/// The same with a context that is not the device's primary one.
void fake_cuda_set_own_context(int device) { context_stack.assign(1, own(device)); }
/// A stream of one of these contexts, made by somebody else.
void* fake_cuda_stream(int device, bool in_own) {
  return make_stream(in_own ? own(device) : primary(device), kStreamNonBlocking);
}
int fake_cuda_context_depth() { return static_cast<int>(context_stack.size()); }
int fake_cuda_capture_mode() { return capture_mode; }

}  // extern "C"
